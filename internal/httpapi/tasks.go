package httpapi

import (
	"errors"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

type restTask struct {
	ID              id           `json:"id"`
	FullName        string       `json:"fullName"`
	ParentID        *id          `json:"parentId"`
	Config          object       `json:"config"`
	Upstreams       []id         `json:"upstreams"`
	State           string       `json:"state"`
	CancelRequested bool         `json:"cancelRequested"`
	ExportParams    object       `json:"exportParams"`
	StoreParams     object       `json:"storeParams"`
	StateParams     object       `json:"stateParams"`
	UpdatedAt       moment       `json:"updatedAt"`
	RetryAt         moment       `json:"retryAt"`
	StartedAt       moment       `json:"startedAt"`
	Error           object       `json:"error"`
	IsGroup         bool         `json:"isGroup"`
	Skipped         string       `json:"skipped,omitempty"` // why it was not run
	IgnoredError    bool         `json:"ignoredError,omitempty"`
	LogIncomplete   bool         `json:"logIncomplete,omitempty"`
	Waiting         *restWaiting `json:"waiting,omitempty"` // its state is "ready" meanwhile
}

// restWaiting is what a task waits for that could run otherwise; of the root, what the whole attempt waits for.
type restWaiting struct {
	Reason string  `json:"reason"`
	Since  *moment `json:"since,omitempty"`
	Until  *moment `json:"until,omitempty"` // when the wait ends, or fails the task
	// Of a reason with a line: the pool and how many of its slots. Ahead is how many stand before it in the line, and PoolHeld says
	// that the pool gives no slots; of one task alone, see getTask.
	Pool     string `json:"pool,omitempty"`
	Slots    int    `json:"slots,omitempty"`
	Ahead    *int   `json:"ahead,omitempty"`
	PoolHeld *bool  `json:"held,omitempty"`
}

// waitingOf is nil for a task that waits for other tasks only, for a try or for its keys, which its state tells.
func waitingOf(w engine.Waiting) *restWaiting {
	if !w.Reason.Ready() && w.Reason != engine.ForStartTime {
		return nil
	}
	r := &restWaiting{Reason: w.Reason.String(), Since: orAbsent(w.Since), Until: orAbsent(w.Until)}
	if w.Pool != nil {
		r.Pool, r.Slots = w.Pool.Name, w.Pool.Slots
	}
	return r
}

// task shows a task. Parameters are shared with the engine: they are frozen, only read.
// updatedAt is never null, or Digdag's client library refuses the answer: a task of which
// nothing changed yet has the time at which it came.
func task(s *engine.State, t *engine.Task, created time.Time, mask masker) restTask {
	updated := t.UpdatedAt
	if updated.IsZero() {
		updated = created
		if t.Parent != 0 && !s.Task(t.Parent).StartedAt.IsZero() {
			updated = s.Task(t.Parent).StartedAt
		}
	}
	config, export := mask(t.Config), mask(t.Export)
	r := restTask{ID: id(t.ID), FullName: t.Name, ParentID: orNull(int64(t.Parent)), Config: object{config},
		Upstreams: make([]id, len(t.Upstreams)), State: t.State.String(), CancelRequested: t.Cancel,
		ExportParams: object{export}, StateParams: object{mask(t.Progress.Params)}, UpdatedAt: moment(updated), RetryAt: moment(t.RetryAt),
		StartedAt: moment(t.StartedAt), IsGroup: t.Group, Skipped: t.Skipped, IgnoredError: t.Ignored && t.State == engine.Success, LogIncomplete: t.LogIncomplete}
	for i, u := range t.Upstreams {
		r.Upstreams[i] = id(u)
	}
	if export.Len() > 0 {
		config = config.Clone()
		config.Set("_export", export)
		r.Config = object{config}
	}
	w := s.WaitingOf(t.ID)
	r.Waiting = waitingOf(w)
	if w.Reason.Ready() {
		r.State = engine.Ready.String()
	}
	if t.Outcome != nil {
		r.ExportParams = object{param.Merge(export, mask(t.Exports))}
		r.StoreParams, r.Error = object{mask(t.Stores)}, object{mask(t.Error)}
	}
	return r
}

// masker leaves secrets out of what is shown.
type masker func(*param.Map) *param.Map

// tasks shows those of an attempt.
func (c *call) tasks(a host.Attempt, s *engine.State) (any, error) {
	mask, err := c.Node.Masker(c.ctx(), a, s)
	if err != nil {
		return nil, err
	}
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	return collection("tasks", list, func(t *engine.Task) restTask { return task(s, t, a.CreatedAt, mask) }), nil
}

func getTasks(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	var wrong error
	err = c.Node.View(c.ctx(), a, func(s *engine.State) { answer, wrong = c.tasks(a, s) })
	return answer, errors.Join(err, wrong)
}
