package httpapi

import (
	"zerodag/internal/console"
	"zerodag/internal/host"
)

type restSearch struct {
	Projects  []idName            `json:"projects"`
	Workflows []restFoundWorkflow `json:"workflows"`
	Tasks     []restFoundTask     `json:"tasks"`
	Session   *brief              `json:"session"` // its last attempt
	Attempt   *brief              `json:"attempt"`
}

type restFoundWorkflow struct {
	ID      id     `json:"id"`
	Name    string `json:"name"`
	Project idName `json:"project"`
}

type restFoundTask struct {
	Name     string            `json:"name"`
	Workflow restFoundWorkflow `json:"workflow"`
}

func foundWorkflow(w host.Workflow) restFoundWorkflow {
	return restFoundWorkflow{id(w.ID), w.Name, named(w.Project)}
}

// mostQuery is the longest text that is searched for, in bytes.
const mostQuery = 255

func search(c *call) (any, error) {
	text, err := c.required("q")
	if err != nil {
		return nil, err
	}
	if text == "" || len(text) > mostQuery {
		return nil, invalid("q= must have 1 to %d bytes", mostQuery)
	}
	f, err := c.console.Search(c.ctx(), c.actor.Site, text)
	if err != nil {
		return nil, err
	}
	r := restSearch{Projects: each(f.Projects, func(p host.Project) idName { return idName{id(p.ID), p.Name} }), Workflows: each(f.Workflows, foundWorkflow),
		Tasks: each(f.Tasks, func(t console.FoundTask) restFoundTask { return restFoundTask{t.Name, foundWorkflow(t.Workflow)} })}
	if f.Session != nil {
		r.Session = new(lastBriefly(*f.Session))
	}
	if f.Attempt != nil {
		r.Attempt = new(briefly(*f.Attempt))
	}
	return r, nil
}
