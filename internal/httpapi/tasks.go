package httpapi

import (
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
)

type restTask struct {
	ID              id     `json:"id"`
	FullName        string `json:"fullName"`
	ParentID        *id    `json:"parentId"`
	Config          object `json:"config"`
	Upstreams       []id   `json:"upstreams"`
	State           string `json:"state"`
	CancelRequested bool   `json:"cancelRequested"`
	ExportParams    object `json:"exportParams"`
	StoreParams     object `json:"storeParams"`
	StateParams     object `json:"stateParams"`
	UpdatedAt       moment `json:"updatedAt"`
	RetryAt         moment `json:"retryAt"`
	StartedAt       moment `json:"startedAt"`
	Error           object `json:"error"`
	IsGroup         bool   `json:"isGroup"`
}

// task shows a task. Parameters are shared with the engine: they are frozen, only read.
// updatedAt is never null, or Digdag's client library refuses the answer: a task of which
// nothing changed yet has the time at which it came.
func task(s *engine.State, t *engine.Task, created time.Time) restTask {
	updated := t.UpdatedAt
	if updated.IsZero() {
		updated = created
		if t.Parent != 0 && !s.Task(t.Parent).StartedAt.IsZero() {
			updated = s.Task(t.Parent).StartedAt
		}
	}
	r := restTask{ID: id(t.ID), FullName: t.Name, ParentID: orNull(int64(t.Parent)), Config: object{t.Config},
		Upstreams: make([]id, len(t.Upstreams)), State: t.State.String(), CancelRequested: t.Cancel,
		ExportParams: object{t.Export}, StateParams: object{t.Progress.Params}, UpdatedAt: moment(updated), RetryAt: moment(t.RetryAt),
		StartedAt: moment(t.StartedAt), IsGroup: t.Group}
	for i, u := range t.Upstreams {
		r.Upstreams[i] = id(u)
	}
	if t.Export.Len() > 0 {
		config := t.Config.Clone()
		config.Set("_export", t.Export)
		r.Config = object{config}
	}
	if t.Outcome != nil {
		r.ExportParams = object{param.Merge(t.Export, t.Exports)}
		r.StoreParams, r.Error = object{t.Stores}, object{t.Error}
	}
	return r
}

// tasks shows those of an attempt that was created then.
func tasks(s *engine.State, created time.Time) map[string][]restTask {
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	return collection("tasks", list, func(t *engine.Task) restTask { return task(s, t, created) })
}

func getTasks(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	err = c.Host.View(c.ctx(), a, func(s *engine.State) { answer = tasks(s, a.CreatedAt) })
	return answer, err
}
