package taskview

import (
	"slices"
	"strings"
	"time"

	"zerodag/engine"
)

// Row is one task of an attempt in the form in which it is drawn.
type Row struct {
	Name           string // the full name
	State          engine.TaskState
	Started, Ended time.Time
	Parent         engine.TaskID // its position among all rows, from 1; 0 for none
	Skipped        bool          // _if was false: it succeeded without running
	Ignored        bool          // it counts as successful although it failed
	Old            bool          // a different run of the task counts: this one belongs to an earlier attempt at its group
}

// NewRow returns the current row of a task.
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

// active reports whether the task has begun and not ended.
func (r *Row) active() bool { return r.State != engine.Blocked && !r.State.Done() }

// isNotice reports whether the engine added the task to report a failure. Such a task is shown only if it fails.
func (r *Row) isNotice() bool {
	return strings.HasSuffix(r.Name, engine.FailureAlert) && !r.State.Error()
}

// isHandler reports whether the task runs when its parent has failed, was killed or has ended. The parent may be a task
// that contains nothing else.
func (r *Row) isHandler() bool {
	return slices.ContainsFunc([]string{"^error", "^cancel", "^finally"}, func(end string) bool { return strings.HasSuffix(r.Name, end) })
}

// isShell reports whether the row is the group that the engine puts around the tasks that a loop or a script generates.
// Its contents are shown below its parent.
func (r *Row) isShell() bool { return strings.HasSuffix(r.Name, "^sub") && !r.waits() }
