package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
)

func treeOf(rows ...treeRow) *treeView {
	s := &engine.State{}
	return &treeView{states: []*engine.State{s}, rows: map[*engine.State][]treeRow{s: rows}}
}

// TestTreePicture proves that the tree shows each task below its parent, with its state
// and how long it took, and that a tree that does not fit folds what is finished.
func TestTreePicture(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	row := func(name string, depth int, parent engine.TaskID, state engine.TaskState, from, to int) treeRow {
		r := treeRow{name: name, depth: depth, parent: parent, state: state}
		if from >= 0 {
			r.started = at(from)
		}
		if to >= 0 {
			r.ended = at(to)
		}
		return r
	}
	small := treeOf(
		row("+wf", 0, 0, engine.Planned, 0, -1),
		row("+wf+a", 1, 1, engine.Success, 0, 2),
		row("+wf+b", 1, 1, engine.RetryWaiting, 2, -1),
		row("+wf+c", 1, 1, engine.Blocked, -1, -1),
		row("+wf+a^sub", 2, 2, engine.Failed, 0, 65),
	)
	got := small.picture(at(70), 80, 20, false)
	if diff := cmp.Diff([]string{
		"⠋ +wf 1m 10s",
		"  ✔ +a 2.0s",
		"    ✘ ^sub 1m 5s",
		"  ↻ +b 1m 8s (waits)",
		"  · +c ",
	}, got); diff != "" {
		t.Error(diff)
	}
	rows := []treeRow{row("+wf", 0, 0, engine.Planned, 0, -1), row("+wf+l", 1, 1, engine.Planned, 0, -1)}
	for range 100 {
		rows = append(rows, row("+wf+l+x", 2, 2, engine.Success, 0, 1))
	}
	rows = append(rows, row("+wf+l+last", 2, 2, engine.Running, 1, -1))
	got = treeOf(rows...).picture(at(3), 80, 10, false)
	if diff := cmp.Diff([]string{
		"⠋ +wf 3.0s",
		"  ⠋ +l 3.0s",
		"    ⠋ +last 2.0s",
		"  103 tasks: 100 done, 1 running, 0 failed",
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTreeKeepsOutput proves that what commands print stays above the tree, whole lines
// only, and that nothing is lost at the end.
func TestTreeKeepsOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := treeOf(treeRow{name: "+wf"})
	v.out, v.size = &out, func() (int, int) { return 40, 10 }
	v.print("first\nsec")
	v.redraw(time.Unix(0, 0), false)
	v.print("ond\nlast")
	v.redraw(time.Unix(0, 0), true)
	if diff := cmp.Diff("first\n· +wf \n\x1b[1A\r\x1b[Jsecond\nlast\n· +wf \n", out.String()); diff != "" {
		t.Error(diff)
	}
}
