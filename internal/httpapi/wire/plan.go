package wire

import (
	"zerodag/engine/dig"
	"zerodag/internal/console"
)

// Place is a position in a file.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// PlaceOf shows a place; null if it is unknown.
func PlaceOf(p dig.Place) *Place {
	if p.Line == 0 {
		return nil
	}
	return &Place{p.File, p.Line, p.Column}
}

// Plan lists the tasks that a workflow would run.
type Plan struct {
	Workflow IDName    `json:"workflow"`
	Revision string    `json:"revision"`
	Tasks    []Planned `json:"tasks"`
	All      bool      `json:"all"`
	Params   []Used    `json:"params"`
	Source   bool      `json:"source"`
}

// Planned is a task of a plan.
type Planned struct {
	Name      string  `json:"name"`
	Parent    *int    `json:"parent"`
	Upstreams []int   `json:"upstreams"`
	Operator  *string `json:"operator"`
	Group     bool    `json:"group"`
	Makes     bool    `json:"makes"`
	Made      bool    `json:"made"`
	Calls     *string `json:"calls"`
	Place     *Place  `json:"place"`
}

// Used is a workflow or file that a task names.
type Used struct {
	Name string `json:"name"`
	Task string `json:"task"`
}

// MostPlan is the maximum size in bytes of the names in a plan.
const MostPlan = 2 << 20

// PlannedTasks returns as many tasks of a plan as fit into a response; if that is not all of them, it marks the plan as
// cut.
func PlannedTasks(p *console.Plan) []Planned {
	bytes := 0
	for i, t := range p.Tasks {
		if bytes += len(t.Name) + len(t.Calls); bytes > MostPlan {
			p.Tasks, p.All = p.Tasks[:i], false
			break
		}
	}
	return Each(p.Tasks, PlannedOf)
}

// PlannedOf shows a task of a plan.
func PlannedOf(t console.Planned) Planned {
	r := Planned{Name: t.Name, Upstreams: []int{}, Operator: TextOrNull(t.Operator), Group: t.Group, Makes: t.Makes, Made: t.Made, Calls: TextOrNull(t.Calls), Place: PlaceOf(t.Place)}
	if t.Parent >= 0 {
		r.Parent = &t.Parent
	}
	r.Upstreams = append(r.Upstreams, t.Upstreams...)
	return r
}
