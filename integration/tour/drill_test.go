package tour

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRestoreDrill checks that the drill of docs/production.md works as written, and has the stated results: a second
// server on restored data has projects, sessions and secrets of the first, and runs nothing.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	const page = "docs/production.md"
	drill := read(section(t, page, "Restore drill")).steps
	if len(drill) < 8 {
		t.Fatalf("the drill has %d commands", len(drill))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	// The page assumes a server that has already run work.
	var list []step
	for _, command := range []string{
		`zerodag server -o "$HOME/data" &`,
		`mkdir reports && printf 'timezone: UTC\nschedule:\n  minutes_interval>: 1\n+a:\n  echo>: x\n' > reports/nightly.dig`,
		"zerodag push reports --project reports",
		"zerodag disable reports nightly",
		"zerodag start reports nightly --session 2024-03-01 --wait",
		"zerodag secrets --project reports --set db.password=of-the-drill",
	} {
		list = append(list, step{command: command})
	}
	for _, one := range drill {
		one.command = strings.ReplaceAll(one.command, "65433", port)
		list = append(list, one)
	}
	s := open(t)
	s.follow(t, page, list)
	if entries, err := os.ReadDir(s.home); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "drill" }) {
		t.Errorf("the drill leaves its data: %v", err)
	}
}
