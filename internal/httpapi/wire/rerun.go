package wire

import (
	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// RerunBody requests another attempt of a session.
type RerunBody struct {
	Mode             *string    `json:"mode"`
	From             *Words     `json:"from"`
	Seq              *Whole     `json:"seq"`
	Only             *Words     `json:"only"`
	Until            *Words     `json:"until"`
	MarkSuccess      []Words    `json:"markSuccess"`
	Revision         *string    `json:"revision"`
	RetryAttemptName *Words     `json:"retryAttemptName"`
	Params           *param.Map `json:"params"`
	Priority         *string    `json:"priority"`
	DryRun           Choice     `json:"dryRun"`
}

// Request checks the body; it generates a name if it has none.
func (b *RerunBody) Request() (catalogue.RerunRequest, error) {
	r := catalogue.RerunRequest{RetryName: host.NewUUID(), Params: b.Params}
	if b.Mode == nil {
		return r, NotSet("mode")
	}
	if err := b.checkStart(*b.Mode); err != nil {
		return r, err
	}
	if err := b.checkPart(*b.Mode); err != nil {
		return r, err
	}
	r.Mode, r.Part = *b.Mode, b.part()
	if b.Priority != nil {
		r.Priority = *b.Priority
	}
	if b.From != nil {
		r.From = string(*b.From)
	}
	if b.Seq != nil {
		r.Seq = int64(*b.Seq)
	}
	if b.RetryAttemptName != nil {
		r.RetryName = string(*b.RetryAttemptName)
		return r, names.Retry(r.RetryName)
	}
	return r, nil
}

// checkStart checks the point at which the attempt begins.
func (b *RerunBody) checkStart(mode string) error {
	switch {
	case mode == "from" && b.From == nil:
		return NotSet("from")
	case mode == "fork" && b.Seq == nil:
		return NotSet("seq")
	case mode != "from" && b.From != nil, mode != "fork" && b.Seq != nil:
		return Invalid("from is for mode from, seq for mode fork")
	}
	return nil
}

// checkPart checks the selection of tasks of the attempt.
func (b *RerunBody) checkPart(mode string) error {
	switch {
	case (mode == "only") != (b.Only != nil), b.Only != nil && *b.Only == "":
		return Invalid("only, the task to run, is required in mode only and not allowed in other modes")
	case b.Until != nil && *b.Until == "":
		return Invalid("until must be the name of a task")
	case mode == "fork" && (b.Until != nil || b.MarkSuccess != nil), mode == "only" && b.Until != nil:
		return Invalid("until is for the modes failed, from and all; markSuccess is for these and for only")
	case len(b.MarkSuccess) > MostMarked:
		return Invalid("markSuccess has more than %d tasks", MostMarked)
	}
	return nil
}

// MostMarked is how many tasks one request may mark as succeeded: a group counts as one task.
const MostMarked = 100

func (b *RerunBody) part() (p engine.Part) {
	if b.Only != nil {
		p.Only = string(*b.Only)
	}
	if b.Until != nil {
		p.Until = string(*b.Until)
	}
	for _, t := range b.MarkSuccess {
		p.Done = append(p.Done, string(t))
	}
	return p
}

// Rerun is the attempt that was started again.
type Rerun struct {
	Attempt *Attempt   `json:"attempt"` // the started attempt; null for a dry run
	Plan    *RerunPlan `json:"plan"`    // only for a dry run
}

// RerunPlan lists the tasks that another attempt would run.
type RerunPlan struct {
	Workflow IDName     `json:"workflow"`
	Revision string     `json:"revision"`
	Carried  RerunTasks `json:"carried"`
	Runs     RerunTasks `json:"runs"`
	Gone     int        `json:"gone"`
}

// RerunTasks holds the tasks of a plan.
type RerunTasks struct {
	Total int         `json:"total"`
	Rows  []RerunTask `json:"rows"`
}

// RerunTask is a task of a plan.
type RerunTask struct {
	Name  string `json:"name"`
	Group bool   `json:"group"`
	Made  bool   `json:"made"`
	Took  int64  `json:"took"`

	Skipped    string   `json:"skipped,omitempty"`
	Parameters []string `json:"parameters,omitempty"`
}

// Limits on each list of a plan.
const (
	MostRerunRows  = 2000
	MostRerunBytes = 1 << 20
)

// RerunTasksOf shows as many tasks as fit into a response.
func RerunTasksOf(list []catalogue.RerunTask) RerunTasks {
	shown, bytes := list[:min(len(list), MostRerunRows)], 0
	for i, t := range shown {
		bytes += len(t.Name)
		for _, name := range t.Parameters {
			bytes += len(name)
		}
		if bytes > MostRerunBytes {
			shown = shown[:i]
			break
		}
	}
	return RerunTasks{len(list), Each(shown, func(t catalogue.RerunTask) RerunTask {
		return RerunTask{t.Name, t.Group, t.Made, t.Took.Milliseconds(), t.Skipped, t.Parameters}
	})}
}
