package operators

import (
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
)

// TestVariablesHaveTheirPlace proves that the page for users lists every built-in variable.
func TestVariablesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/language/variables.md")
	if err != nil {
		t.Fatal(err)
	}
	times := param.New("last_session_time", "2026-02-28T00:00:00+00:00", "next_session_time", "2026-03-02T00:00:00+00:00",
		"last_executed_session_time", "2026-02-27T00:00:00+00:00")
	j := &Job{Vars: times}
	j.SessionTime, j.RetryAttemptName = time.Unix(0, 0).UTC(), "again"
	names := append(times.Keys(), j.variables().Keys()...)
	if len(names) < 30 {
		t.Fatalf("only %d variables were found: %v", len(names), names)
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n| `"+name+"` |") {
			t.Errorf("docs/language/variables.md does not list %s", name)
		}
	}
}
