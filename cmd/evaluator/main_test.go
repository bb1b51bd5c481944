package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/evaluators"
)

// TestEvaluator checks that the program next to a function evaluates the requests that the function hands to it, and
// prints its purpose if a user starts it by hand.
func TestEvaluator(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "evaluator")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	pool := evaluators.New(path)
	t.Cleanup(pool.Close)
	berlin, err := schedule.Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pool.Template(t.Context(), "${n + 1} ${new Date(2024, 6, 1).toISOString()}", param.New("n", int64(1)), expr.Scope{Zone: berlin})
	if want := "2 2024-06-30T22:00:00.000Z"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	out, err := exec.Command(path).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "do not run it manually") {
		t.Errorf("started by hand: %v\n%s", err, out)
	}
}
