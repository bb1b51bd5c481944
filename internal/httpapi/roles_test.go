package httpapi

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/server"
)

var rewrite = flag.Bool("rewrite", false, "write the table of roles into docs/server.md; read the diff before you keep it")

// TestRoleTable proves that docs/server.md lists the required role of every endpoint.
func TestRoleTable(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/server.md", "<!-- roles -->\n", "<!-- end of roles -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+begin+roleTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, roleTable()); diff != "" {
		t.Errorf("%s is out of date; `make generate` writes it\n%s", page, diff)
	}
}

// roleTable returns the table of each role's rights, generated from the table of endpoints.
func roleTable() string {
	var b strings.Builder
	b.WriteString("| | anyone | metrics | viewer | operator | developer | admin | owner |\n|---|---|---|---|---|---|---|---|\n")
	for _, rt := range endpoints(&server.Room{}) {
		fmt.Fprintf(&b, "| `%s %s` |", rt.Method, rt.Path)
		for role := access.Role(0); role <= access.Owner; role++ {
			b.WriteString(map[bool]string{true: " yes |", false: " |"}[role >= rt.Role])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestWhoCrossesSites proves that endpoints that span all sites need an owner, whatever an endpoint itself checks. So do
// endpoints that write history: attempts that never ran here.
func TestWhoCrossesSites(t *testing.T) {
	t.Parallel()
	for _, rt := range endpoints(&server.Room{}) {
		crosses := map[string]bool{"getBackup": true, "redrive": true, "revive": true, "getUserInfo": true,
			"getSites": true, "getServers": true, "getQueue": true, "getDeadLetters": true, "getDeadLetter": true, "redriveDeadLetter": true, "rekey": true,
			"getAlerts": true, "testAlert": true}[rt.Name]
		history := rt.Name == "importAttempts" || rt.Name == "importSchedules"
		if (crosses || history) != (rt.Role == access.Owner) {
			t.Errorf("%s %s: crosses sites %t, writes history %t, needs role %q", rt.Method, rt.Path, crosses, history, rt.Role)
		}
	}
}
