// Package digdag reads a Digdag server's history (finished attempts, and the positions of schedules) from its API or
// from its PostgreSQL database, and sends it to a zerodag server.
//
// The command `import digdag` calls it. It must never change anything in Digdag, nor decide which attempts are added,
// because the server decides that.
package digdag

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/client"
)

// Filter selects what is imported.
type Filter struct {
	Projects []string  // names; none means all
	Since    time.Time // attempts that were created earlier are omitted; zero: none are
}

// Survey counts the attempts of a filter before they are read.
type Survey struct {
	Attempts int // attempts of sessions that have ended
	// Unfinished counts attempts of sessions that have not ended. They are omitted, because another attempt may follow.
	Unfinished int
	Deleted    int // attempts of deleted projects, which are omitted
}

// History is a Digdag server's history.
type History interface {
	// Attempts calls survey once, then passes the attempts to do in batches, oldest first, until do returns an error.
	Attempts(ctx context.Context, f Filter, survey func(Survey), do func([]client.PastAttempt) error) error
	// Schedules lists the schedules of projects that are not deleted.
	Schedules(ctx context.Context, f Filter) ([]client.PastSchedule, error)
}

// Target is the server that receives the history: a *client.Client.
type Target interface {
	ImportAttempts(ctx context.Context, list []client.PastAttempt, dryRun bool) (client.ImportedAttempts, error)
	ImportSchedules(ctx context.Context, list []client.PastSchedule, enabling string, dryRun bool) ([]client.ImportedSchedule, error)
}

// Options selects what Move does.
type Options struct {
	Filter
	// Enabling selects whether schedules are enabled afterwards (client.ImportSchedules); "" leaves the schedules alone.
	Enabling string
	DryRun   bool
	Progress func(sent, of int) // called after each batch
}

// Report is the result of Move.
type Report struct {
	Attempts   int                       `json:"attempts"` // number of attempts that were read and sent
	Added      int                       `json:"added"`
	Present    int                       `json:"alreadyPresent"`
	Unfinished int                       `json:"unfinished"`
	Deleted    int                       `json:"ofDeletedProjects"`
	Missing    []client.MissingWorkflow  `json:"missingWorkflows"`
	Refused    []string                  `json:"refused"`
	Schedules  []client.ImportedSchedule `json:"schedules"`
}

// Move sends the history to a server. It may be interrupted and repeated: existing data is skipped. The report
// describes what was done, even after an error.
func Move(ctx context.Context, from History, to Target, o Options) (Report, error) {
	r := Report{Missing: []client.MissingWorkflow{}, Refused: []string{}, Schedules: []client.ImportedSchedule{}}
	total := 0
	survey := func(s Survey) { total, r.Unfinished, r.Deleted = s.Attempts, s.Unfinished, s.Deleted }
	err := from.Attempts(ctx, o.Filter, survey, func(list []client.PastAttempt) error {
		fit, refused := fitting(list)
		r.Attempts += len(refused)
		r.Refused = append(r.Refused, refused...)
		for _, part := range parts(fit) {
			one, err := to.ImportAttempts(ctx, part, o.DryRun)
			if err != nil {
				return err
			}
			r.add(len(part), one)
			o.Progress(r.Attempts, max(total, r.Attempts))
		}
		return nil
	})
	if err != nil || o.Enabling == "" {
		return r, err
	}
	schedules, err := from.Schedules(ctx, o.Filter)
	if err != nil {
		return r, err
	}
	for len(schedules) > 0 {
		n := min(len(schedules), mostInPart)
		done, err := to.ImportSchedules(ctx, schedules[:n], o.Enabling, o.DryRun)
		if err != nil {
			return r, err
		}
		r.Schedules, schedules = append(r.Schedules, done...), schedules[n:]
	}
	return r, nil
}

func (r *Report) add(n int, one client.ImportedAttempts) {
	r.Attempts += n
	r.Added += one.Added
	r.Present += one.Present
	r.Refused = append(r.Refused, one.Refused...)
missing:
	for _, m := range one.Missing {
		for i, known := range r.Missing {
			if known.Project == m.Project && known.Workflow == m.Workflow {
				r.Missing[i].Attempts += m.Attempts
				continue missing
			}
		}
		r.Missing = append(r.Missing, m)
	}
}

// Limits of one call: a call may have up to 4 MiB.
const (
	mostInPart  = 200
	bytesInPart = 2 << 20
	bytesOfOne  = 4<<20 - 4<<10
)

// fitting returns the attempts that fit into a call, and the problems with the others.
func fitting(list []client.PastAttempt) (fit []client.PastAttempt, refused []string) {
	for _, p := range list {
		if n := p.Size(); n > bytesOfOne {
			refused = append(refused, fmt.Sprintf("attempt %s of workflow %s in project %s: it has %d bytes with its parameters, and at most %d can be sent", p.ID, p.Workflow, p.Project, n, bytesOfOne))
		} else {
			fit = append(fit, p)
		}
	}
	return fit, refused
}

// parts splits a list into batches that fit into a call.
func parts(list []client.PastAttempt) (out [][]client.PastAttempt) {
	first, size := 0, 0
	for i, p := range list {
		n := p.Size()
		if i > first && (i-first == mostInPart || size+n > bytesInPart) {
			out, first, size = append(out, list[first:i]), i, 0
		}
		size += n
	}
	if first < len(list) {
		out = append(out, list[first:])
	}
	return out
}
