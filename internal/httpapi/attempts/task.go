package attempts

import (
	"errors"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func getTask(c *endpoint.Call) (any, error) {
	n, err := c.ID("task_id")
	if err != nil {
		return nil, err
	}
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	running, err := c.Node.Runners(c.Ctx(), a)
	if err != nil {
		return nil, err
	}
	var d *wire.TaskDetail
	var wrong error
	err = c.Node.View(c.Ctx(), a, func(s *engine.State) { d, wrong = taskDetail(c, a, s, n, running) })
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	if d == nil {
		return nil, wire.Missing("task id=%d of session attempt id=%d", n, a.ID)
	}
	if d.Task.Waiting != nil && d.Task.Waiting.Pool != "" {
		if err := placeInLine(c, a, &d.Task); err != nil {
			return nil, err
		}
	}
	files, err := c.Node.TaskLogs(c.Ctx(), a, d.Task.FullName)
	if err != nil {
		return nil, err
	}
	d.Logs = logFiles(c, files)
	if c.Flag("place") {
		var message string
		if d.Task.Error.Map != nil {
			text, _ := d.Task.Error.Get("message")
			message, _ = text.(string)
		}
		at, _, err := c.Console.Place(c.Ctx(), a, d.Task.FullName, message)
		if err != nil {
			return nil, err
		}
		d.Place = wire.PlaceOf(at)
	}
	return d, nil
}

// placeInLine sets how many claims precede a task in its pool's line, which belongs to the project or else to the site.
// It sets nothing if there is no such line, or if the task is not among the claims that are read.
func placeInLine(c *endpoint.Call, a host.Attempt, t *wire.Task) error {
	for _, project := range []int64{a.Project.ID, 0} {
		p, line, err := c.Node.Pool(c.Ctx(), host.PoolRef{Site: a.Site, Project: project, Name: t.Waiting.Pool}, wire.MostClaims)
		if told, ok := errors.AsType[*host.Error](err); ok && told.Code == host.Missing {
			continue
		}
		if err != nil {
			return err
		}
		t.Waiting.PoolHeld = &p.Held
		for i, w := range line.Waiting {
			if h, err := host.ParseHolder(w.Holder); err == nil && h.Attempt == a.ID && (h.Task == int(t.ID) || h.Task == 0) {
				t.Waiting.Ahead = &i
				break
			}
		}
		return nil
	}
	return nil
}

// taskDetail shows a task; nil if there is no task with that id.
func taskDetail(c *endpoint.Call, a host.Attempt, s *engine.State, n int64, running runners) (*wire.TaskDetail, error) {
	if s == nil || n < 1 || n > engine.HardLimit*2 || s.Task(engine.TaskID(n)) == nil {
		return nil, nil
	}
	mask, err := c.Node.Masker(c.Ctx(), a, s)
	if err != nil {
		return nil, err
	}
	t := s.Task(engine.TaskID(n))
	d := &wire.TaskDetail{Task: wire.TaskOf(s, t, a.CreatedAt, mask)}
	d.Task.AgentID = running(s)[t.ID]
	if !t.StartedAt.IsZero() {
		if params := mask(s.ShownParamsOf(t.ID)); len(param.AppendJSON(nil, params)) <= wire.MostParams {
			d.Params = &wire.Object{Map: params}
		}
	}
	return d, nil
}
