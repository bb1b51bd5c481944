package httpapi

import (
	"zerodag/engine/dig"
	"zerodag/internal/console"
)

type restPlace struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// place is null where it is not known.
func place(p dig.Place) *restPlace {
	if p.Line == 0 {
		return nil
	}
	return &restPlace{p.File, p.Line, p.Column}
}

type restPlan struct {
	Workflow idName        `json:"workflow"`
	Revision string        `json:"revision"`
	Tasks    []restPlanned `json:"tasks"`
	All      bool          `json:"all"`
	Params   []restUsed    `json:"params"`
	Source   bool          `json:"source"`
}

type restPlanned struct {
	Name      string     `json:"name"`
	Parent    *int       `json:"parent"`
	Upstreams []int      `json:"upstreams"`
	Operator  *string    `json:"operator"`
	Group     bool       `json:"group"`
	Makes     bool       `json:"makes"`
	Made      bool       `json:"made"`
	Calls     *string    `json:"calls"`
	Place     *restPlace `json:"place"`
}

type restUsed struct {
	Name string `json:"name"`
	Task string `json:"task"`
}

// mostPlan is how many bytes the names of a plan may have.
const mostPlan = 2 << 20

func getPlan(c *call) (any, error) {
	w, err := c.workflowOf()
	if err != nil {
		return nil, err
	}
	p, err := c.console.Plan(c.ctx(), w)
	if err != nil {
		return nil, err
	}
	tasks := plannedTasks(p)
	return restPlan{idName{id(w.ID), w.Name}, w.Revision.Name, tasks, p.All,
		each(p.Params, func(u console.Used) restUsed { return restUsed{beginning(u.Name), beginning(u.Task)} }), p.Source}, nil
}

// plannedTasks are as many tasks of a plan as an answer has; where that is not all of them, the plan says so from then on.
func plannedTasks(p *console.Plan) []restPlanned {
	bytes := 0
	for i, t := range p.Tasks {
		if bytes += len(t.Name) + len(t.Calls); bytes > mostPlan {
			p.Tasks, p.All = p.Tasks[:i], false
			break
		}
	}
	return each(p.Tasks, planned)
}

func planned(t console.Planned) restPlanned {
	r := restPlanned{Name: t.Name, Upstreams: []int{}, Operator: textOrNull(t.Operator), Group: t.Group, Makes: t.Makes, Made: t.Made, Calls: textOrNull(t.Calls), Place: place(t.Place)}
	if t.Parent >= 0 {
		r.Parent = &t.Parent
	}
	r.Upstreams = append(r.Upstreams, t.Upstreams...)
	return r
}
