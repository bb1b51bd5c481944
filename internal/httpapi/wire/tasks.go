package wire

import (
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
)

// Task is a task of an attempt.
type Task struct {
	ID              ID       `json:"id"`
	FullName        string   `json:"fullName"`
	ParentID        *ID      `json:"parentId"`
	Config          Object   `json:"config"`
	Upstreams       []ID     `json:"upstreams"`
	State           string   `json:"state"`
	CancelRequested bool     `json:"cancelRequested"`
	ExportParams    Object   `json:"exportParams"`
	StoreParams     Object   `json:"storeParams"`
	StateParams     Object   `json:"stateParams"`
	UpdatedAt       Moment   `json:"updatedAt"`
	RetryAt         Moment   `json:"retryAt"`
	StartedAt       Moment   `json:"startedAt"`
	Error           Object   `json:"error"`
	IsGroup         bool     `json:"isGroup"`
	Skipped         string   `json:"skipped,omitempty"` // why it did not run
	IgnoredError    bool     `json:"ignoredError,omitempty"`
	LogIncomplete   bool     `json:"logIncomplete,omitempty"`
	AgentID         string   `json:"agentId,omitempty"` // the server that runs it now
	Waiting         *Waiting `json:"waiting,omitempty"` // its state is "ready" meanwhile
}

// Waiting describes what keeps a ready task from running; for the root it concerns the whole attempt.
type Waiting struct {
	Reason string  `json:"reason"`
	Since  *Moment `json:"since,omitempty"`
	Until  *Moment `json:"until,omitempty"` // when the wait ends or fails the task
	// These fields are for a reason with a line. Pool and Slots are the requested pool and the number of slots. Ahead is
	// how many claims precede the task in the line, and PoolHeld means that the pool grants no slots; both are set only
	// for a single task, see getTask.
	Pool     string `json:"pool,omitempty"`
	Slots    int    `json:"slots,omitempty"`
	Ahead    *int   `json:"ahead,omitempty"`
	PoolHeld *bool  `json:"held,omitempty"`
}

// WaitingOf returns nil for a task that waits only for other tasks, for a retry or for its keys, which its state shows.
func WaitingOf(w engine.Waiting) *Waiting {
	if !w.Reason.Ready() && w.Reason != engine.ForStartTime {
		return nil
	}
	r := &Waiting{Reason: w.Reason.String(), Since: OrAbsent(w.Since), Until: OrAbsent(w.Until)}
	if w.Pool != nil {
		r.Pool, r.Slots = w.Pool.Name, w.Pool.Slots
	}
	return r
}

// TaskOf shows a task. Parameters are shared with the engine and must only be read. updatedAt is never null, because
// Digdag's client library would refuse the response: for an unchanged task it is the time when the task was created.
func TaskOf(s *engine.State, t *engine.Task, created time.Time, mask Masker) Task {
	updated := t.UpdatedAt
	if updated.IsZero() {
		updated = created
		if t.Parent != 0 && !s.Task(t.Parent).StartedAt.IsZero() {
			updated = s.Task(t.Parent).StartedAt
		}
	}
	config, export := mask(t.Config), mask(t.Export)
	r := Task{ID: ID(t.ID), FullName: t.Name, ParentID: OrNull(int64(t.Parent)), Config: Object{config},
		Upstreams: make([]ID, len(t.Upstreams)), State: t.State.String(), CancelRequested: t.Cancel,
		ExportParams: Object{export}, StateParams: Object{mask(t.Progress.Params)}, UpdatedAt: Moment(updated), RetryAt: Moment(t.RetryAt),
		StartedAt: Moment(t.StartedAt), IsGroup: t.Group, Skipped: t.Skipped, IgnoredError: t.Ignored && t.State == engine.Success, LogIncomplete: t.LogIncomplete}
	for i, u := range t.Upstreams {
		r.Upstreams[i] = ID(u)
	}
	if export.Len() > 0 {
		config = config.Clone()
		config.Set("_export", export)
		r.Config = Object{config}
	}
	w := s.WaitingOf(t.ID)
	r.Waiting = WaitingOf(w)
	if w.Reason.Ready() {
		r.State = engine.Ready.String()
	}
	if t.Outcome != nil {
		r.ExportParams = Object{param.Merge(export, mask(t.Exports))}
		r.StoreParams, r.Error = Object{mask(t.Stores)}, Object{mask(t.Error)}
	}
	return r
}

// Masker removes secrets from displayed parameters.
type Masker func(*param.Map) *param.Map
