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
	Waiting         *restWaiting `json:"waiting,omitempty"` // for slots of a pool, the root also for those of `concurrency`; its state is "ready" meanwhile
}

// restWaiting is what a task waits for that could run otherwise.
type restWaiting struct {
	Pool  string `json:"pool"`
	Slots int    `json:"slots"`
	Since moment `json:"since"`
	// Ahead is how many stand before it in the line, and Held says that the pool gives no slots; of one task alone, see getTask.
	Ahead *int  `json:"ahead,omitempty"`
	Held  *bool `json:"held,omitempty"`
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
	if t.Held {
		r.State = engine.Ready.String()
	}
	if t.Waits() {
		asked := t.Pool.Asked()
		r.State, r.Waiting = engine.Ready.String(), &restWaiting{Pool: asked.Name, Slots: asked.Slots, Since: moment(t.Pool.Since)}
	}
	if slot, _ := s.UseOf(engine.Whole); t.Parent == 0 && s.Waits() {
		r.State = engine.Ready.String()
		if s.Paused() == nil { // else it stands in no line
			r.Waiting = &restWaiting{Pool: slot.Name, Slots: slot.Slots, Since: moment(slot.Since)}
		}
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
