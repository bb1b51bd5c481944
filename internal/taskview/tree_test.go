package taskview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/internal/term"
	"zerodag/operators"
)

// at returns the instant that is the given number of seconds after the run began.
func at(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }

// row returns a task that began and ended the given numbers of seconds after the run began; -1 means that it has not.
func row(name string, parent engine.TaskID, state engine.TaskState, from, to int) Row {
	r := Row{Name: name, Parent: parent, State: state}
	if from >= 0 {
		r.Started = at(from)
	}
	if to >= 0 {
		r.Ended = at(to)
	}
	return r
}

// TestTreePicture proves that the tree shows each task below its parent, with its state, its duration and its last
// line; that loops have no separate level; and that successful notices are hidden.
func TestTreePicture(t *testing.T) {
	t.Parallel()
	p := painter{took: term.ShortDuration, now: at(70), columns: 80, last: func(task string) string { return "\x07said by " + task }}
	got := p.picture([]Row{
		row("+wf", 0, engine.Planned, 0, -1),
		row("+wf+a", 1, engine.Planned, 0, -1),
		row("+wf+b", 1, engine.RetryWaiting, 2, -1),
		row("+wf+c", 1, engine.Blocked, -1, -1),
		row("+wf+a^sub", 2, engine.Planned, 0, -1),
		row("+wf+a^sub+x", 5, engine.Failed, 0, 65),
		row("+wf+a^sub+y", 5, engine.Running, 60, -1),
		row("+wf^failure-alert", 1, engine.Success, 60, 60),
	}, 20, false)
	if diff := cmp.Diff([]string{
		"⠋ +wf 1m 10s",
		"  ⠋ +a 1m 10s",
		"    ✘ +x 1m 5s",
		"    ⠋ +y 10.0s | \\x07said by +wf+a^sub+y",
		"  ↻ +b 1m 8s (waits)",
		"  · +c",
		"━━━━━─────────────── 0 of 4 done, 1 running, 1 waiting, 1 failed 1m 10s",
	}, got); diff != "" {
		t.Error(diff)
	}
}

// wide returns a loop of many tasks, some of which have ended, failed or are running, followed by a small group.
func wide(done, failed, running, left int) []Row {
	rows := []Row{row("+wf", 0, engine.Planned, 0, -1), row("+wf+l", 1, engine.Planned, 0, -1)}
	add := func(n int, state engine.TaskState, from, to int) {
		for range n {
			rows = append(rows, row(fmt.Sprint("+wf+l+x", len(rows)), 2, state, from, to))
		}
	}
	add(done, engine.Success, 0, 1)
	add(running, engine.Running, 1, -1)
	add(failed, engine.Failed, 0, 1)
	add(left, engine.Blocked, -1, -1)
	rows = append(rows, row("+wf+end", 1, engine.Blocked, -1, -1))
	end := engine.TaskID(len(rows))
	return append(rows, row("+wf+end+p", end, engine.Blocked, -1, -1), row("+wf+end+q", end, engine.Blocked, -1, -1))
}

// TestTreeFolds proves that a tree that does not fit shows failures first, then running tasks, and counts the rest;
// that its totals are always visible and count failed tasks but not the groups that contain them; and that successful
// groups are folded into a line.
func TestTreeFolds(t *testing.T) {
	t.Parallel()
	p := painter{took: term.ShortDuration, now: at(3), columns: 50}
	if diff := cmp.Diff([]string{
		"⠋ +wf 3.0s",
		"  ⠋ +l 3.0s",
		"    ✘ +x152 1.0s",
		"    ⠋ +x102 2.0s",
		"    ⠋ +x103 2.0s",
		"    ⠋ +x104 2.0s",
		"    ⠋ +x105 2.0s",
		"      ... 100 done, 46 running, 30 to come",
		"  · +end",
		"    · +p",
		"    · +q",
		"100 of 183 done, 50 running, 1 failed 3.0s",
	}, p.picture(wide(100, 1, 50, 30), 12, false)); diff != "" {
		t.Error(diff)
	}
	rows := wide(100, 0, 0, 0)
	rows[1].State, rows[1].Ended = engine.Success, at(2)
	if diff := cmp.Diff([]string{
		"⠋ +wf 3.0s",
		"  ✔ +l 2.0s  100 tasks",
		"  · +end",
		"    · +p",
		"    · +q",
		"100 of 102 done 3.0s",
	}, p.picture(rows, 12, false)); diff != "" {
		t.Error(diff)
	}
	over := p.picture(wide(100, 1, 0, 30), 8, true)
	if text := strings.Join(over, "\n"); !strings.Contains(text, "... 100 done, 30 did not run") || strings.Contains(text, "100 of") {
		t.Errorf("at the end:\n%s", text)
	}
}

// TestTreeLeavesOutWhatWaits proves that groups that have not begun are folded before any running task is omitted, and
// are always folded when the run has ended.
func TestTreeLeavesOutWhatWaits(t *testing.T) {
	t.Parallel()
	p := painter{took: term.ShortDuration, now: at(3), columns: 50}
	rows := wide(100, 1, 4, 0)
	if diff := cmp.Diff([]string{
		"⠋ +wf 3.0s",
		"  ⠋ +l 3.0s",
		"    ✘ +x106 1.0s",
		"    ⠋ +x102 2.0s",
		"    ⠋ +x103 2.0s",
		"    ⠋ +x104 2.0s",
		"    ⠋ +x105 2.0s",
		"      ... 100 done",
		"  · +end",
		"    · +p",
		"    · +q",
		"100 of 107 done, 4 running, 1 failed 3.0s",
	}, p.picture(rows, 12, false)); diff != "" {
		t.Error(diff)
	}
	for range 8 {
		rows = append(rows, row(fmt.Sprint("+wf+end+r", len(rows)), engine.TaskID(len(rows)), engine.Blocked, -1, -1))
		rows[len(rows)-1].Parent = 108
	}
	running, over := strings.Join(p.picture(rows, 12, false), "\n"), strings.Join(p.picture(rows, 100, true), "\n")
	if !strings.Contains(running, "· +end  10 tasks\n") || !strings.Contains(running, "+x105 2.0s\n") {
		t.Errorf("while it runs:\n%s", running)
	}
	if !strings.Contains(over, "· +end  10 tasks did not run") {
		t.Errorf("at the end:\n%s", over)
	}
}

// TestTreeOfAnAttemptElsewhere proves that the tree draws the rows it was last given, whatever it was given before.
func TestTreeOfAnAttemptElsewhere(t *testing.T) {
	t.Parallel()
	rows := []Row{row("+w", 0, engine.GroupError, 3, 9), row("+w+g", 1, engine.Success, 3, 7), row(`+w+g+\x1ba`, 2, engine.Success, 3, 7), row("+w+b", 1, engine.Blocked, -1, -1)}
	v := &Tree{rows: map[any][]Row{}, took: term.WholeDuration}
	v.Show("7", rows[:1])
	v.Show("7", rows)
	picture := strings.Join(v.picture(at(20), 80, 20, true), "\n")
	if picture != "✘ +w 6s\n  ✔ +g 4s\n    ✔ +\\x1ba 4s\n  · +b" {
		t.Errorf("the tree:\n%s", picture)
	}
}

// TestTreeLeavesRoom proves that the last picture leaves room below it for the text about failures.
func TestTreeLeavesRoom(t *testing.T) {
	t.Parallel()
	for state, want := range map[engine.TaskState]int{engine.Success: 20, engine.Failed: 12, engine.Canceled: 12} {
		v := &Tree{took: term.ShortDuration, rows: map[any][]Row{nil: {{Name: "+w", State: state}, {Name: "+w^failure-alert"}}}}
		if got := v.room(24, true); got != want || v.room(24, false) != 22 || v.room(2, true) != 3 {
			t.Errorf("%v: %d lines", state, got)
		}
	}
}

// TestTallyOfHandlers proves that a failed task counts as failed, even if a task below it handles the failure.
func TestTallyOfHandlers(t *testing.T) {
	t.Parallel()
	got := NewGrove([]Row{
		row("+wf", 0, engine.GroupError, 0, 3),
		row("+wf+a", 1, engine.GroupError, 0, 2),
		row("+wf+a^error", 2, engine.Success, 1, 2),
		row("+wf+g", 1, engine.GroupError, 0, 2),
		row("+wf+g+b", 4, engine.Failed, 0, 1),
		row("+wf+g^error", 4, engine.Success, 1, 2),
	}, true).Tally()
	if want := (Tally{Total: 4, Done: 2, Failed: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTreeFits proves that no picture, whatever the tree, has more lines than the terminal or lines wider than the
// terminal, and that the last line shows the totals.
func TestTreeFits(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{3, 4, 5, 8, 22, 38} {
		for _, n := range []int{0, 1, 3, 50, 1000} {
			for _, columns := range []int{20, 80, 140} {
				p := painter{took: term.ShortDuration, now: at(3), columns: columns, last: func(string) string { return strings.Repeat("long ", 50) }}
				got := p.picture(wide(n, n/10, n/5, n), lines, false)
				if len(got) > lines || !strings.Contains(got[len(got)-1], " of ") {
					t.Errorf("%d lines for %d tasks in %d:\n%s", len(got), n, lines, strings.Join(got, "\n"))
				}
				for _, l := range got {
					if w := len([]rune(l)); w > columns {
						t.Errorf("%d wide in %d columns: %s", w, columns, l)
					}
				}
			}
		}
	}
}

// TestTreeKeepsOutput proves that task output stays above the tree, each line with its task's name, even an unfinished
// one, and that nothing is lost at the end.
func TestTreeKeepsOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s, screen := &engine.State{}, term.NewPicture(&out, func() (int, int) { return 40, 10 })
	v := &Tree{screen: screen, states: []any{s},
		rows: map[any][]Row{s: {{Name: "+wf"}}}, output: NewOutput(t.Context(), OutputOptions{Lines: Lines{Out: screen}, Level: 2, Tree: true})}
	log := v.Log(operators.Identity{TaskName: "+wf+a"})
	fmt.Fprint(log, "first\nsec")
	v.redraw(time.Unix(0, 0), false)
	fmt.Fprint(log, "ond\nlast")
	log.(*lineLog).Close()
	v.redraw(time.Unix(0, 0), true)
	if diff := cmp.Diff("+wf+a | first\n\x1b[?7l· +wf\n0 of 1 done\n\x1b[?7h\x1b[J\x1b[2A\r+wf+a | second\n+wf+a | last\n\x1b[?7l· +wf\n\x1b[?7h\x1b[J", strings.ReplaceAll(out.String(), "\x1b[K\n", "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestLineLog proves that complete lines reach the screen, in order with the engine's messages about the task, and that
// an unfinished line is still shown.
func TestLineLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := NewOutput(t.Context(), OutputOptions{Lines: Lines{Out: &out, Whole: true}, Level: 2, Reword: strings.ToUpper})
	log := o.Log(operators.Identity{TaskName: "+a"})
	fmt.Fprint(log, "one\r\ntwo")
	log.Line(operators.Error, "OperatorManager", "Task failed, retrying: no\n\tfrom somewhere")
	log.Line(operators.Debug, "OperatorManager", "not shown")
	log.Echo("three\nfour")
	n, _ := fmt.Fprint(log, strings.Repeat("x", longestLine+1))
	if diff := cmp.Diff("+a | one\n+a | two\n+a | FAILED, RETRYING: NO\n+a | three\n+a | four\n+a | "+strings.Repeat("x", n)+"\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if got := len(o.LastOf("+a")); got != 5 {
		t.Errorf("%d lines are kept", got)
	}
	if o.Log(operators.Identity{TaskName: "+a"}); len(o.LastOf("+a")) > 0 {
		t.Error("a further try keeps lines of the one before")
	}
}
