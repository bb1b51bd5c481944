package run

import (
	"os"
	"strings"
	"testing"
)

// TestVariablesHaveTheirPlace checks that the user page lists every built-in variable.
func TestVariablesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/language/variables.md")
	if err != nil {
		t.Fatal(err)
	}
	names := VariableNames()
	if len(names) < 30 {
		t.Fatalf("only %d variables were found: %v", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n| `"+name+"` |") {
			t.Errorf("docs/language/variables.md does not list %s", name)
		}
	}
}
