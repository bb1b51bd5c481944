package localrun

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// TestRunOutcome proves that the text at the end of a run shows what failed, why, the last output, and the command that
// resumes the run.
func TestRunOutcome(t *testing.T) {
	t.Parallel()
	many := runOutcome{saved: true, again: "zerodag run a.dig", took: time.Second, count: taskview.Tally{Total: 9, Done: 2, Failed: 6}}
	for i := range 6 {
		many.failed = append(many.failed, runFailure{task: fmt.Sprint("+a+t", i), reason: "no\nwhy", place: "a.dig:2:3", remedies: []string{"do so:\n+x:"}, lines: []string{"last"}})
	}
	for _, x := range []struct {
		o    runOutcome
		want string
	}{
		{runOutcome{succeeded: true, took: time.Second, count: taskview.Tally{Total: 1, Done: 1}}, "Success: 1 task in 1.0s.\n"},
		{runOutcome{succeeded: true, took: time.Second, count: taskview.Tally{Total: 3, Done: 3}, leftOut: 1, ignored: 2}, "Success: 3 tasks in 1.0s, 1 of them skipped by _if, with 2 ignored errors.\n"},
		{runOutcome{succeeded: true, took: time.Second, count: taskview.Tally{Total: 3, Done: 3}, skipped: 2}, "Success: 3 tasks in 1.0s.\n2 had already succeeded and did not run again: --rerun runs all.\n"},
		{runOutcome{interrupted: true, took: time.Second, count: taskview.Tally{Total: 3, Done: 1}, saved: true, again: "zerodag run a.dig"},
			"Interrupted after 1.0s: 1 of 3 tasks succeeded, 2 did not finish.\nInterrupted tasks will run again.\nResume with: zerodag run a.dig\n"},
		{runOutcome{took: time.Second, count: taskview.Tally{Total: 1, Failed: 1}}, "Failed after 1.0s: 0 of 1 task succeeded, 1 failed.\nNothing was saved (--no-save): the next run starts over.\n"},
		{many, strings.Join([]string{"error: +a+t0: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "error: +a+t1: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "error: +a+t2: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "... and 3 more: +a+t3, +a+t4, +a+t5",
			"Failed after 1.0s: 2 of 9 tasks succeeded, 6 failed, 1 did not finish.", "Fix it, then resume with: zerodag run a.dig\n"}, "\n")},
	} {
		if diff := cmp.Diff(x.want, x.o.text(0, term.Palette{})); diff != "" {
			t.Error(diff)
		}
	}
	narrow := runOutcome{failed: []runFailure{{task: "+a", reason: "a reason of many words\n  and more of them in a second line"}}, again: "zerodag run a.dig", saved: true}.text(24, term.Palette{Red: "<", Reset: ">"})
	if want := "<error:> +a: a reason of\n  many words\n    and more of them in\n      a second line\n<Failed>"; !strings.HasPrefix(narrow, want) || !strings.HasSuffix(narrow, ": zerodag run a.dig\n") {
		t.Errorf("on a narrow terminal:\n%s", narrow)
	}
}
