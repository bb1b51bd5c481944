package host

import (
	"context"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/operators"
)

// near lists the sandboxes of the commands that come right after a task that is none itself.
// What they are to be is taken as it is written: what is computed is not known yet. The lock
// is held.
func (h *Host) near(l *live, id engine.TaskID) []operators.Sandbox {
	if written(h.Registry, l.state.Task(id)).Commands {
		return nil // its own machine will do
	}
	var list []operators.Sandbox
	for _, t := range l.state.Next(id) {
		if !written(h.Registry, t).Commands {
			continue
		}
		own := param.Merge(l.state.ParamsOf(id), t.Config)
		docker, _ := own.Get("docker")
		sandbox, _ := own.Get("sandbox")
		if strings.Contains(param.Text(docker)+param.Text(sandbox), "${") {
			continue
		}
		if s, err := operators.ReadSandbox(operators.NewParams(own)); err == nil { // else the task itself will say so
			list = append(list, s)
		}
	}
	return list
}

// prepare tells of what is near, while the task runs; the returned function waits for that.
func (h *Host) prepare(ctx context.Context, j *job) (wait func()) {
	var telling sync.WaitGroup
	for _, s := range j.near {
		telling.Go(func() { h.Near(ctx, j.Identity, s) })
	}
	return telling.Wait
}
