package tour

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators"
	"zerodag/operators/all"
)

// section is the text below a heading.
func section(t *testing.T, file, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", file, heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

var word = regexp.MustCompile("`([a-z0-9_]+)`")

// TestOperatorsOfTheREADME proves that the README lists the operators that there are.
func TestOperatorsOfTheREADME(t *testing.T) {
	t.Parallel()
	listed, _, _ := strings.Cut(section(t, "README.md", "What it runs"), ", and operators of your own")
	var names []string
	for _, m := range word.FindAllStringSubmatch(listed, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	want := slices.Sorted(slices.Values(all.Registry().Names()))
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// TestMissingOperators proves that what docs/compatibility.md lists as missing is missing, and
// is told as an operator of Digdag by the program.
func TestMissingOperators(t *testing.T) {
	t.Parallel()
	text, _, _ := strings.Cut(section(t, "docs/compatibility.md", "Missing operators"), ". `check`")
	list := word.FindAllStringSubmatch(text, -1)
	if len(list) != 5 {
		t.Errorf("%d operators are listed", len(list))
	}
	for _, m := range list {
		if slices.Contains(all.Registry().Names(), m[1]) || !strings.Contains(operators.Missing(m[1]), "Digdag has "+m[1]+"> built in") {
			t.Errorf("%s>: %q", m[1], operators.Missing(m[1]))
		}
	}
	if text := operators.Missing("athena.query"); !strings.Contains(text, "athena>") {
		t.Error(text)
	}
	if text := operators.Missing("ecoh"); text != "" {
		t.Error(text)
	}
}
