package tour

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRestoreDrill proves that the drill of docs/production.md works as it is typed, and shows what it says: a second
// server on restored data has projects, sessions and secrets of the first, and runs nothing.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	drill := steps(string(text), "## Restore drill", "## Standby")
	if len(drill) < 8 {
		t.Fatalf("the drill has %d commands", len(drill))
	}
	program := filepath.Join(t.TempDir(), "zerodag")
	if out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	s := open(t, program)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	// What the page takes for granted: a server that has worked.
	before := []string{
		`zerodag server -o "$HOME/data" &`,
		"until zerodag projects >/dev/null 2>&1; do sleep 0.1; done",
		`mkdir reports && printf 'timezone: UTC\nschedule:\n  minutes_interval>: 1\n+a:\n  echo>: x\n' > reports/nightly.dig`,
		"zerodag push reports --project reports",
		"zerodag disable reports nightly",
		"zerodag start reports nightly --session 2024-03-01 --wait",
		"zerodag secrets --project reports --set db.password=of-the-drill",
	}
	var list []step
	for _, command := range before {
		list = append(list, step{command: command})
	}
	for _, one := range append(list, drill...) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		output, code, err := s.enter(ctx, strings.ReplaceAll(one.command, "65433", port))
		cancel()
		if err != nil || code != "0" {
			t.Fatalf("docs/production.md:%d: %s\nexit code %s, %v\n%s", one.line, one.command, code, err, output)
		}
		if wrong := differs(one.want, output); wrong != "" {
			t.Errorf("docs/production.md:%d: %s\nnot shown: %s\n%s", one.line, one.command, wrong, output)
		}
	}
}
