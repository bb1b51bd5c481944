package httpapi

import (
	"slices"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/check"
	"zerodag/internal/console"
)

type checkBody struct {
	Files map[string]string `json:"files"`
	// Plan names a workflow whose tasks are told, too; "" for none.
	Plan string `json:"plan"`
}

type restFindings struct {
	Findings []restFinding `json:"findings"`
	All      bool          `json:"all"` // false: there are more than an answer has
	// Schedules are those of the workflows; null where a file cannot be read.
	Schedules *[]restScheduled `json:"schedules"`
	// Plan is null unless it was asked for, and can be read.
	Plan *restPlanHere `json:"plan"`
}

// restScheduled is when a workflow is to run.
type restScheduled struct {
	Workflow string `json:"workflow"`
	Timezone string `json:"timezone"`
	Schedule object `json:"schedule"` // as it is written
}

type restPlanHere struct {
	Tasks []restPlanned `json:"tasks"`
	All   bool          `json:"all"`
}

type restFinding struct {
	File    *string `json:"file"`
	Line    int     `json:"line"`   // from 1; 0 where it is not known
	Column  int     `json:"column"` // from 1; 0 where it is not known
	Task    *string `json:"task"`
	Code    string  `json:"code"`
	Refused bool    `json:"refused"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
}

// Bounds of what is checked, and of what is said of it.
const (
	mostChecked  = 4 << 20 // bytes of a request
	mostFiles    = 2000
	mostFindings = 1000
)

func checkFiles(c *call) (any, error) {
	var b checkBody
	c.mostBody = mostChecked
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	if b.Files == nil {
		return nil, notSet("files")
	}
	if len(b.Files) > mostFiles {
		return nil, invalid("%d files are checked at once, and these are %d: send those that changed and what they include", mostFiles, len(b.Files))
	}
	found, workflows := check.Files(b.Files, c.Code)
	shown := found[:min(len(found), mostFindings)]
	answer := restFindings{Findings: each(shown, finding), All: len(shown) == len(found)}
	if workflows != nil {
		answer.Schedules = new(schedulesOf(workflows))
	}
	if i := slices.IndexFunc(workflows, func(w dig.Workflow) bool { return w.Name == b.Plan }); i >= 0 {
		if p, err := console.PlanHere(workflows[i], check.Source(b.Files)); err == nil { // else it is among the findings
			answer.Plan = &restPlanHere{plannedTasks(p), p.All}
		}
	}
	return answer, nil
}

// mostSchedule is how many bytes a schedule has that is told. No real one is near.
const mostSchedule = 4 << 10

// schedulesOf are the schedules of workflows that have one.
func schedulesOf(workflows []dig.Workflow) []restScheduled {
	list := []restScheduled{}
	for _, w := range workflows {
		if s := w.Config.Map("schedule"); s != nil && len(param.AppendJSON(nil, s)) <= mostSchedule {
			list = append(list, restScheduled{w.Name, w.Zone, object{s}})
		}
	}
	return list
}

func finding(f check.Finding) restFinding {
	return restFinding{File: textOrNull(f.File), Line: f.Line, Column: f.Column, Task: textOrNull(beginning(f.Task)), Code: f.Code,
		Refused: f.Code == check.Refused || f.Code == check.Empty, Message: beginning(f.Message), Hint: textOrNull(beginning(f.Hint))}
}
