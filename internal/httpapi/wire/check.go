package wire

import (
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/check"
)

// CheckBody contains the files to check.
type CheckBody struct {
	Files map[string]*string `json:"files"`
	// Plan names a workflow whose tasks are also listed; "" for none.
	Plan string `json:"plan"`
}

// Texts returns the files' text by path, or an error if a file has none.
func (b *CheckBody) Texts() (map[string]string, error) {
	if b.Files == nil {
		return nil, NotSet("files")
	}
	if len(b.Files) > MostFiles {
		return nil, Invalid("at most %d files are checked at once, but the request has %d: send only changed files and their includes", MostFiles, len(b.Files))
	}
	texts := make(map[string]string, len(b.Files))
	for name, text := range b.Files {
		if text == nil {
			return nil, Invalid("The file %q is null: send its text, or leave the file out", Beginning(name))
		}
		texts[name] = *text
	}
	return texts, nil
}

// Findings holds the results of checking files.
type Findings struct {
	Findings []Finding `json:"findings"`
	All      bool      `json:"all"` // false: there are more than fit into a response
	// Schedules lists the workflows' schedules; null if a file cannot be read.
	Schedules *[]Scheduled `json:"schedules"`
	// Plan is null unless it was requested and the workflow can be read.
	Plan *PlanHere `json:"plan"`
}

// Scheduled describes when a workflow will run.
type Scheduled struct {
	Workflow string `json:"workflow"`
	Timezone string `json:"timezone"`
	Schedule Object `json:"schedule"` // as it is written
}

// PlanHere lists the tasks that a workflow of checked files would run.
type PlanHere struct {
	Tasks []Planned `json:"tasks"`
	All   bool      `json:"all"`
}

// Finding is one error or warning about a file.
type Finding struct {
	File    *string `json:"file"`
	Line    int     `json:"line"`   // from 1; 0 where it is not known
	Column  int     `json:"column"` // from 1; 0 where it is not known
	Task    *string `json:"task"`
	Code    string  `json:"code"`
	Refused bool    `json:"refused"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
}

// Limits on a check and on its response.
const (
	MostChecked  = 4 << 20 // bytes of a request
	MostFiles    = 2000
	MostFindings = 1000
)

// MostSchedule is the maximum size in bytes of a schedule that is listed. Real schedules are far smaller.
const MostSchedule = 4 << 10

// SchedulesOf returns the schedules of workflows that have one.
func SchedulesOf(workflows []dig.Workflow) []Scheduled {
	list := []Scheduled{}
	for _, w := range workflows {
		if s := w.Config.Map("schedule"); s != nil && len(param.AppendJSON(nil, s)) <= MostSchedule {
			list = append(list, Scheduled{w.Name, w.Zone, Object{s}})
		}
	}
	return list
}

// FindingOf shows an error or a warning.
func FindingOf(f check.Finding) Finding {
	return Finding{File: TextOrNull(f.File), Line: f.Line, Column: f.Column, Task: TextOrNull(Beginning(f.Task)), Code: f.Code,
		Refused: f.Code == check.Refused || f.Code == check.Empty, Message: Beginning(f.Message), Hint: TextOrNull(Beginning(f.Hint))}
}
