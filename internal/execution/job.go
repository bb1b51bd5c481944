package execution

import (
	"zerodag/engine"
	"zerodag/engine/expr"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

// JobOf returns the part of an attempt that the next run of a task can see; its contents do not change later. base
// holds the host's values for all runs of the attempt: its identity, the time, and how to send notices and start other
// attempts. The caller adds a log, secrets and files, and whether stored values are evaluated.
func JobOf(r *host.Runtime, s *engine.State, task engine.TaskID, base operators.Task) *run.Job {
	t, id := s.Task(task), base.Identity
	state, count, away := run.Resume(t.Progress.Params, t.RetryCount)
	id.TaskID, id.TaskName, id.Dispatch, id.Try, id.RetryCount, id.StartedAt = int64(t.ID), t.Name, t.Dispatch, t.Runs(), count, t.StartedAt
	base.Identity, base.State, base.Level = id, state, t.Level
	base.HTTP, base.Network, base.Config = r.HTTP, r.Network, r.Config
	if r.Store != nil {
		base.Store = r.Store(id.SiteID)
	}
	if r.Steady != nil {
		base.Steady = r.Steady()
	}
	env, files := s.EnvOf(t.ID)
	j := &run.Job{
		Task: base, Own: t.Config, Env: env, EnvFiles: files, Vars: s.ParamsOf(t.ID),
		Scope:  expr.Scope{Zone: id.SessionTime.Location(), Now: base.Now, Seed: Seed(id)},
		Cancel: t.Cancel, Prepare: t.Preparing, Ends: t.Ends, Timeout: t.Timeout, Away: away,
	}
	if t.Preparing {
		j.Priority = s.ComputedPriorityOf(t.ID)
	}
	return j
}
