package taskview

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine"
)

// Row is one task of an attempt as it is drawn.
type Row struct {
	Name           string // the full name
	State          engine.TaskState
	Started, Ended time.Time
	Parent         engine.TaskID // its place among all rows, from 1 on; 0 for none
	Skipped        bool          // _if was false: a success that was not run
	Ignored        bool          // a success although it failed
	Old            bool          // another run of it counts: it is of an earlier round of a group
}

// NewRow returns the row of a task as it is now.
func NewRow(t *engine.Task) Row {
	r := Row{Name: t.Name, Parent: t.Parent}
	r.follow(t)
	return r
}

func (r *Row) follow(t *engine.Task) {
	if r.State == engine.Blocked && t.State != engine.Blocked {
		r.Started = t.UpdatedAt
	}
	r.State, r.Skipped, r.Ignored = t.State, t.Skipped != "", t.Ignored && t.State == engine.Success
	if t.State.Done() {
		r.Ended = t.UpdatedAt
	}
}

func (r *Row) waits() bool {
	return r.State == engine.RetryWaiting || r.State == engine.GroupRetryWaiting
}

// active: it has begun and is not over.
func (r *Row) active() bool { return r.State != engine.Blocked && !r.State.Done() }

// isNotice: the engine has added it to report a failure. It is not shown unless it fails.
func (r *Row) isNotice() bool {
	return strings.HasSuffix(r.Name, engine.FailureAlert) && !r.State.Error()
}

// isHandler: its parent has failed, was killed or is over. That may be a task that contains nothing else.
func (r *Row) isHandler() bool {
	return slices.ContainsFunc([]string{"^error", "^cancel", "^finally"}, func(end string) bool { return strings.HasSuffix(r.Name, end) })
}

// isShell reports whether the row is the group that the engine puts around the tasks that a loop or a script generates.
// Its contents are shown below its parent.
func (r *Row) isShell() bool { return strings.HasSuffix(r.Name, "^sub") && !r.waits() }
