package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/operators"
)

// at is an instant so many seconds after the run began.
func at(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }

// row is a task that began and ended so many seconds after the run did; -1: it has not.
func row(name string, parent engine.TaskID, state engine.TaskState, from, to int) treeRow {
	r := treeRow{name: name, parent: parent, state: state}
	if from >= 0 {
		r.started = at(from)
	}
	if to >= 0 {
		r.ended = at(to)
	}
	return r
}

// TestTreePicture proves that the tree shows each task below its parent, with its state, how long it took
// and what it says; that loops have no level of their own; and that nobody sees a notice that went well.
func TestTreePicture(t *testing.T) {
	t.Parallel()
	p := painter{took: shortDuration, now: at(70), columns: 80, last: func(task string) string { return "\x07said by " + task }}
	got := p.picture([]treeRow{
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

// wide is a loop of many tasks of which some have ended, some failed and some run, before a small group.
func wide(done, failed, running, left int) []treeRow {
	rows := []treeRow{row("+wf", 0, engine.Planned, 0, -1), row("+wf+l", 1, engine.Planned, 0, -1)}
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

// TestTreeFolds proves that a tree which does not fit shows failures first, then what runs, and counts the
// rest; that its totals are always seen and count what failed, not what only contains that; and that
// what has succeeded folds to a line.
func TestTreeFolds(t *testing.T) {
	t.Parallel()
	p := painter{took: shortDuration, now: at(3), columns: 50}
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
	rows[1].state, rows[1].ended = engine.Success, at(2)
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

// TestTreeLeavesOutWhatWaits proves that groups which have not begun fold before anything that runs is left out, and
// always when the run is over.
func TestTreeLeavesOutWhatWaits(t *testing.T) {
	t.Parallel()
	p := painter{took: shortDuration, now: at(3), columns: 50}
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
		rows[len(rows)-1].parent = 108
	}
	running, over := strings.Join(p.picture(rows, 12, false), "\n"), strings.Join(p.picture(rows, 100, true), "\n")
	if !strings.Contains(running, "· +end  10 tasks\n") || !strings.Contains(running, "+x105 2.0s\n") {
		t.Errorf("while it runs:\n%s", running)
	}
	if !strings.Contains(over, "· +end  10 tasks did not run") {
		t.Errorf("at the end:\n%s", over)
	}
}

// TestTreeInAnotherSize proves that a tree is replaced whole when the terminal has got another size: a narrower one
// has broken its lines, and what a lower one has moved out of sight comes back with a higher one. What was printed
// since lies below that, and stays.
func TestTreeInAnotherSize(t *testing.T) {
	t.Parallel()
	lines := []string{"\x1b[32m" + strings.Repeat("x", 70) + "\x1b[0m", "", "ab", strings.Repeat("é", 100)}
	for _, x := range []struct{ columns, lines, beyond, up, left int }{
		{80, 24, 0, 5, 0}, {80, 4, 0, 3, 2}, {40, 24, 0, 7, 0}, {30, 24, 0, 9, 0}, {140, 24, 0, 4, 0}, {140, 4, 0, 3, 1}, {140, 24, 3, 7, 0}, {140, 6, 3, 5, 2},
	} {
		if up, left := (drawing{lines, 140, x.beyond}).rows(x.columns, x.lines); up != x.up || left != x.left {
			t.Errorf("%+v: %d up, %d left", x, up, left)
		}
	}
	if up, _ := (drawing{lines[3:], 80, 0}).rows(40, 24); up != 2 {
		t.Errorf("a line that was cut at 80 columns takes %d lines of 40", up)
	}
	var out strings.Builder
	s, above := &engine.State{}, &aboveTree{}
	columns, rows := 80, 24
	v := &treeView{out: &out, size: func() (int, int) { return columns, rows }, above: above, states: []any{s}, took: shortDuration,
		rows: map[any][]treeRow{s: {{name: "+" + strings.Repeat("w", 60)}, {name: "+w+a", parent: 1}, {name: "+w+b", parent: 1}}}, output: newRunOutput(t.Context(), taskLines{out: above}, 2, true)}
	for _, x := range []struct {
		columns, rows int
		printed, want string
	}{{80, 24, "", "\x1b[?7l"}, {50, 24, "", "\x1b[5A\r"}, {50, 4, "", "\x1b[3A\r"}, {50, 24, "", "\x1b[4A\r"}, {50, 4, "", "\x1b[3A\r"}, {50, 4, "said\n", "\x1b[3A\rsaid\x1b[K\n"}, {50, 24, "", "\x1b[3A\r"}} {
		columns, rows = x.columns, x.rows
		out.Reset()
		fmt.Fprint(above, x.printed)
		v.redraw(at(1), false)
		if !strings.HasPrefix(out.String(), x.want) {
			t.Errorf("%+v: %q", x, out.String())
		}
		if n := strings.Count(out.String(), "\x1b[J"); n != 1 || !strings.HasSuffix(out.String(), "\n"+wrapLines+eraseBelow) {
			t.Errorf("%+v: the screen is erased other than below the tree: %q", x, out.String())
		}
	}
}

// TestTreeLeavesRoom proves that below the last picture there is room for what is said of failures.
func TestTreeLeavesRoom(t *testing.T) {
	t.Parallel()
	for state, want := range map[engine.TaskState]int{engine.Success: 20, engine.Failed: 12, engine.Canceled: 12} {
		v := &treeView{took: shortDuration, rows: map[any][]treeRow{nil: {{name: "+w", state: state}, {name: "+w^failure-alert"}}}}
		if got := v.room(24, true); got != want || v.room(24, false) != 22 || v.room(2, true) != 3 {
			t.Errorf("%v: %d lines", state, got)
		}
	}
}

// TestTallyOfHandlers proves that a task which failed counts as one that did, also when something is done
// about that below it.
func TestTallyOfHandlers(t *testing.T) {
	t.Parallel()
	got := newGrove([]treeRow{
		row("+wf", 0, engine.GroupError, 0, 3),
		row("+wf+a", 1, engine.GroupError, 0, 2),
		row("+wf+a^error", 2, engine.Success, 1, 2),
		row("+wf+g", 1, engine.GroupError, 0, 2),
		row("+wf+g+b", 4, engine.Failed, 0, 1),
		row("+wf+g^error", 4, engine.Success, 1, 2),
	}, true).tally()
	if want := (tally{total: 4, done: 2, failed: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTreeFits proves that no picture has more lines than there are, whatever the tree, nor lines that are
// wider than the terminal, and that the last line has the totals.
func TestTreeFits(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{3, 4, 5, 8, 22, 38} {
		for _, n := range []int{0, 1, 3, 50, 1000} {
			for _, columns := range []int{20, 80, 140} {
				p := painter{took: shortDuration, now: at(3), columns: columns, last: func(string) string { return strings.Repeat("long ", 50) }}
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

// TestTreeKeepsOutput proves that what tasks print stays above the tree, each line beside its task, also one
// whose end never comes, and that nothing is lost at the end.
func TestTreeKeepsOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s, above := &engine.State{}, &aboveTree{}
	v := &treeView{out: &out, size: func() (int, int) { return 40, 10 }, above: above, states: []any{s},
		rows: map[any][]treeRow{s: {{name: "+wf"}}}, output: newRunOutput(t.Context(), taskLines{out: above}, 2, true)}
	log := v.log(operators.Identity{TaskName: "+wf+a"})
	fmt.Fprint(log, "first\nsec")
	v.redraw(time.Unix(0, 0), false)
	fmt.Fprint(log, "ond\nlast")
	log.(*lineLog).Close()
	v.redraw(time.Unix(0, 0), true)
	if diff := cmp.Diff("+wf+a | first\n\x1b[?7l· +wf\n0 of 1 done\n\x1b[?7h\x1b[J\x1b[2A\r+wf+a | second\n+wf+a | last\n\x1b[?7l· +wf\n\x1b[?7h\x1b[J", strings.ReplaceAll(out.String(), newLine, "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestLineLog proves that lines reach the screen whole, in the order of what is said of the task, and that
// one without an end is shown all the same.
func TestLineLog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := newRunOutput(t.Context(), taskLines{out: &out, whole: true}, 2, false)
	log := o.log(operators.Identity{TaskName: "+a"})
	fmt.Fprint(log, "one\r\ntwo")
	log.Line(operators.Error, "OperatorManager", "Task failed, retrying: no\n\tfrom somewhere")
	log.Line(operators.Debug, "OperatorManager", "not shown")
	log.Echo("three\nfour")
	n, _ := fmt.Fprint(log, strings.Repeat("x", longestLine+1))
	if diff := cmp.Diff("+a | one\n+a | two\n+a | failed, and is tried again: no\n+a | three\n+a | four\n+a | "+strings.Repeat("x", n)+"\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if got := len(o.lastOf("+a")); got != 5 {
		t.Errorf("%d lines are kept", got)
	}
	if o.log(operators.Identity{TaskName: "+a"}); len(o.lastOf("+a")) > 0 {
		t.Error("a further try keeps lines of the one before")
	}
}

// TestRunOutcome proves what is said at the end of a run: what failed, why, what it printed last, and the
// command that goes on.
func TestRunOutcome(t *testing.T) {
	t.Parallel()
	many := runOutcome{saved: true, again: "zerodag run a.dig", took: time.Second, count: tally{total: 9, done: 2, failed: 6}}
	for i := range 6 {
		many.failed = append(many.failed, runFailure{task: fmt.Sprint("+a+t", i), reason: "no\nwhy", place: "a.dig:2:3", remedies: []string{"do so:\n+x:"}, lines: []string{"last"}})
	}
	for _, x := range []struct {
		o    runOutcome
		want string
	}{
		{runOutcome{succeeded: true, took: time.Second, count: tally{total: 1, done: 1}}, "Success: 1 task in 1.0s.\n"},
		{runOutcome{succeeded: true, took: time.Second, count: tally{total: 3, done: 3}, leftOut: 1, ignored: 2}, "Success: 3 tasks in 1.0s, 1 of them left out by _if, with 2 ignored errors.\n"},
		{runOutcome{succeeded: true, took: time.Second, count: tally{total: 3, done: 3}, skipped: 2}, "Success: 3 tasks in 1.0s.\n2 had succeeded before and did not run again: --rerun runs all.\n"},
		{runOutcome{interrupted: true, took: time.Second, count: tally{total: 3, done: 1}, saved: true, again: "zerodag run a.dig"},
			"Interrupted after 1.0s: 1 of 3 tasks succeeded, 2 did not finish.\nWhat was running will run again.\nGo on with: zerodag run a.dig\n"},
		{runOutcome{took: time.Second, count: tally{total: 1, failed: 1}}, "Failed after 1.0s: 0 of 1 task succeeded, 1 failed.\nNothing was saved (--no-save): the next run begins anew.\n"},
		{many, strings.Join([]string{"error: +a+t0: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "error: +a+t1: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "error: +a+t2: no", "  why", "  | last", "  at a.dig:2:3", "  hint: do so:", "    +x:", "... and 3 more: +a+t3, +a+t4, +a+t5",
			"Failed after 1.0s: 2 of 9 tasks succeeded, 6 failed, 1 did not finish.", "Mend it, and go on with: zerodag run a.dig\n"}, "\n")},
	} {
		if diff := cmp.Diff(x.want, x.o.text(0, palette{})); diff != "" {
			t.Error(diff)
		}
	}
	narrow := runOutcome{failed: []runFailure{{task: "+a", reason: "a reason of many words\n  and more of them in a second line"}}, again: "zerodag run a.dig", saved: true}.text(24, palette{red: "<", reset: ">"})
	if want := "<error:> +a: a reason of\n  many words\n    and more of them in\n      a second line\n<Failed>"; !strings.HasPrefix(narrow, want) || !strings.HasSuffix(narrow, ": zerodag run a.dig\n") {
		t.Errorf("on a narrow terminal:\n%s", narrow)
	}
}

// TestLongNamesAreSaved proves that the state of a task is saved whatever the length of its name, of each in a file of
// its own, and that of names which fit the file has the original's.
func TestLongNamesAreSaved(t *testing.T) {
	t.Parallel()
	f := &statusFolder{dir: t.TempDir()}
	for _, name := range []string{"+w/a+b", "+" + strings.Repeat("n", 300) + "1", "+" + strings.Repeat("n", 300) + "2", "+" + strings.Repeat("名", 200)} {
		if f.read(name) != nil {
			t.Errorf("%s has the file of another", name)
		}
		f.save(&engine.Task{Name: name})
		if f.failed != nil || f.read(name) == nil {
			t.Errorf("%s: %v", name, f.failed)
		}
	}
	if got := fileName("+w/a+b"); got != "+w%2Fa+b" {
		t.Errorf("%s", got)
	}
}
