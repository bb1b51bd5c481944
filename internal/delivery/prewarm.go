package delivery

import (
	"context"
	"strings"
	"sync"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/execution"
	"zerodag/operators"
)

// next lists the sandboxes of the commands that directly follow a task that is not a command. It uses their settings as
// written, because computed values are not known yet. The lock of the state's attempt is held.
func (w *Worker) next(s *engine.State, id engine.TaskID) []operators.Sandbox {
	if w.Prewarm == nil || execution.Written(w.Registry, s.Task(id)).Commands {
		return nil // the next commands can use this command's machine
	}
	var list []operators.Sandbox
	for _, t := range s.Next(id) {
		if !execution.Written(w.Registry, t).Commands {
			continue
		}
		own := param.Merge(s.ParamsOf(id), t.Config)
		docker, _ := own.Get("docker")
		sandbox, _ := own.Get("sandbox")
		if strings.Contains(param.Text(docker)+param.Text(sandbox), "${") {
			continue
		}
		if s, err := operators.ReadSandbox(operators.NewParams(own)); err == nil { // otherwise the task will report the error
			list = append(list, s)
		}
	}
	return list
}

// prewarm starts the next sandboxes while the task runs; the returned function waits for them.
func (w *Worker) prewarm(ctx context.Context, j *job) (wait func()) {
	var starting sync.WaitGroup
	for _, s := range j.next {
		starting.Go(func() { w.Prewarm(ctx, j.Identity, s) })
	}
	return starting.Wait
}
