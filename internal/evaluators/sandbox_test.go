//go:build linux

package evaluators_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// TestLambda proves that expressions are evaluated, and limited, in a sandbox that refuses prctl(2) and much else, as
// Lambda's does.
func TestLambda(t *testing.T) {
	t.Parallel()
	if os.Getenv("IN_SANDBOX") != "" {
		p := newPool(t)
		got, err := p.Template(t.Context(), "${n * 6} ${moment('2024-01-01').format('YYYY')}", param.New("n", int64(7)), expr.Scope{Zone: time.UTC})
		if err != nil || got != "42 2024" {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := p.Template(t.Context(), "${(function() { for (;;); })()}", param.New(), expr.Scope{Zone: time.UTC}); err == nil {
			t.Error("an expression without end has a value")
		}
		return
	}
	dir := t.TempDir() // the folder that the program sees as /tmp
	sandbox := filepath.Join(dir, "sandbox")
	if out, err := exec.Command("go", "build", "-o", sandbox, "zerodag/integration/localstack/sandbox").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(sandbox, dir, "/tmp/program", "-test.run=^TestLambda$", "-test.v")
	c.Dir, c.Env = "/", []string{"IN_SANDBOX=1"}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
