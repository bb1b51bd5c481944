package httpapi

import (
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
func task(t *engine.Task) restTask {
	r := restTask{ID: id(t.ID), FullName: t.Name, ParentID: orNull(int64(t.Parent)), Config: object{t.Config},
		Upstreams: make([]id, len(t.Upstreams)), State: t.State.String(), CancelRequested: t.Cancel,
		ExportParams: object{t.Export}, StateParams: object{t.Progress.Params}, UpdatedAt: moment(t.UpdatedAt), RetryAt: moment(t.RetryAt),
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

func tasks(s *engine.State) map[string][]restTask {
	var list []*engine.Task
	if s != nil {
		list = s.Tasks()
	}
	return collection("tasks", list, task)
}

func getTasks(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	var answer any
	err = c.Host.View(c.ctx(), a, func(s *engine.State) { answer = tasks(s) })
	return answer, err
}
