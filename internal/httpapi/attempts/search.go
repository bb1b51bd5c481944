package attempts

import (
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

func foundWorkflow(w host.Workflow) wire.FoundWorkflow {
	return wire.FoundWorkflow{ID: wire.ID(w.ID), Name: w.Name, Project: wire.Named(w.Project)}
}

// mostQuery is the maximum length in bytes of a search text.
const mostQuery = 255

func search(c *endpoint.Call) (any, error) {
	text, err := c.Required("q")
	if err != nil {
		return nil, err
	}
	if text == "" || len(text) > mostQuery {
		return nil, wire.Invalid("q= must have 1 to %d bytes", mostQuery)
	}
	f, err := c.Console.Search(c.Ctx(), c.Actor.Site, text)
	if err != nil {
		return nil, err
	}
	r := wire.Search{Projects: wire.Each(f.Projects, func(p host.Project) wire.IDName { return wire.IDName{ID: wire.ID(p.ID), Name: p.Name} }), Workflows: wire.Each(f.Workflows, foundWorkflow),
		Tasks: wire.Each(f.Tasks, func(t console.FoundTask) wire.FoundTask {
			return wire.FoundTask{Name: t.Name, Workflow: foundWorkflow(t.Workflow)}
		})}
	if f.Session != nil {
		r.Session = new(wire.LastBriefly(*f.Session))
	}
	if f.Attempt != nil {
		r.Attempt = new(wire.Briefly(*f.Attempt))
	}
	return r, nil
}
