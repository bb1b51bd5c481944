package catalogue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/resume"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// RerunRequest requests another attempt for an attempt's session.
type RerunRequest struct {
	// Mode selects what is taken over: "failed", every task that succeeded; "from", everything before a task; "fork",
	// everything that had succeeded as of a log entry; "only", everything but the task of Part.Only; "all" runs all tasks
	// again.
	Mode string
	From string // pattern of the task, for "from"
	Seq  int64  // number of the entry, for "fork"
	// Part selects tasks that are skipped. It cannot be combined with "fork".
	Part engine.Part
	// Workflow is the definition's id; 0 means the attempt's definition.
	Workflow  int64
	RetryName string     // required
	Priority  string     // as in StartRequest
	Params    *param.Map // override the attempt's parameters
	Outside   bool       // concerns Params, as in StartRequest
}

// Rerun starts the requested attempt. It returns the errors of Start and Fork.
func (c lifecycle) Rerun(ctx context.Context, a host.Attempt, r RerunRequest) (host.Attempt, error) {
	q, err := c.again(ctx, a, r)
	if err != nil {
		return host.Attempt{}, err
	}
	return c.Start(ctx, q)
}

// again creates the start request of a rerun. The attempt's own parameters were checked when it started.
func (c lifecycle) again(ctx context.Context, a host.Attempt, r RerunRequest) (StartRequest, error) {
	q := StartRequest{Site: a.Site, Workflow: r.Workflow, SessionTime: a.SessionTime, RetryName: r.RetryName, Priority: r.Priority, Params: a.Params, Labels: a.Labels}
	if q.Workflow == 0 {
		q.Workflow = a.Workflow.ID
	}
	if q.Workflow == 0 {
		return q, host.Invalidf("the workflow of session attempt id=%d is no longer stored: specify a revision", a.ID)
	}
	if r.Params != nil {
		own := r.Params
		if r.Outside {
			if err := given.CheckSteering(own); err != nil {
				return q, err
			}
		}
		q.Params = param.Merge(a.Params, own)
	}
	var err error
	switch r.Mode {
	case "all", "only":
	case "failed", "from":
		q.carried, q.priority, err = c.carried(ctx, a, Resume{Mode: r.Mode, Attempt: a.ID, From: r.From})
	case "fork":
		q.carried, q.priority, err = c.carriedAt(ctx, a, r.Seq)
		return q, err
	default:
		return q, host.Invalidf("unknown mode %q: use failed, from, only, all or fork", r.Mode)
	}
	if err == nil && !r.Part.IsEmpty() {
		err = c.takePart(ctx, a, r, &q)
	}
	return q, err
}

// takePart excludes from a start the tasks that do not belong to the requested part.
func (c lifecycle) takePart(ctx context.Context, a host.Attempt, r RerunRequest, q *StartRequest) error {
	d, err := c.definitionOf(ctx, q.Site, q.Workflow)
	if err != nil {
		return err
	}
	var wrong error
	err = c.View(ctx, a, func(s *engine.State) {
		if s == nil {
			wrong = nothingToResume(a)
			return
		}
		if r.Mode == "only" {
			q.priority = s.Priority()
		}
		q.carried, wrong = resume.OfPart(d.Compiled, s, q.carried, r.Part, c.o.Now().UTC())
	})
	if err != nil {
		return fmt.Errorf("read attempt: %w", err)
	}
	return userError(wrong)
}

// nothingToResume explains why a start cannot continue from an attempt without tasks.
func nothingToResume(a host.Attempt) error {
	if a.Imported {
		return host.Invalidf("Attempt id=%d ran on another server, and its tasks were not imported: run the session again from the beginning", a.ID)
	}
	return host.Invalidf("Attempt id=%d has not started yet: there is nothing to resume from", a.ID)
}

// RerunPlan is what a rerun would do.
type RerunPlan struct {
	Workflow host.Workflow
	Carried  []RerunTask // tasks whose results are taken over
	Runs     []RerunTask // tasks that run and are known in advance
	Gone     int         // number of results for which the workflow no longer has a task
}

// RerunTask is a task of a plan.
type RerunTask struct {
	Name  string
	Group bool
	// Made marks a task that another task generated at run time: this time, that task may generate other ones.
	Made bool
	Took time.Duration // in the earlier attempt; 0 if it did not end, or was taken over there
	// Skipped is the reason why a task of Carried counts as succeeded although it never ran in any attempt.
	Skipped string
	// Parameters lists the names of the parameters that a task of Carried passes to later tasks.
	Parameters []string
}

// PlanRerun returns what Rerun would do. It fails in the same cases, except that an existing attempt of that name is
// not an error. It changes nothing.
func (c lifecycle) PlanRerun(ctx context.Context, a host.Attempt, r RerunRequest) (RerunPlan, error) {
	q, err := c.again(ctx, a, r)
	if err != nil {
		return RerunPlan{}, err
	}
	d, err := c.definitionOf(ctx, q.Site, q.Workflow)
	if err != nil {
		return RerunPlan{}, err
	}
	if err := c.mayStart(ctx, q.Site, d, 1); err != nil {
		return RerunPlan{}, err
	}
	if q.Params, err = q.given().For(d.Workflow.Name, d.Workflow.Config); err != nil {
		return RerunPlan{}, err
	}
	if err := c.mayBeOneMore(ctx, d, q); err != nil {
		return RerunPlan{}, err
	}
	p := RerunPlan{Workflow: d.Workflow}
	err = c.View(ctx, a, func(s *engine.State) { p.lay(d, s, q.carried) })
	if err != nil {
		return RerunPlan{}, fmt.Errorf("read attempt: %w", err)
	}
	return p, nil
}

// lay sorts a definition's tasks, and the tasks that the earlier attempt generated, into carried and running tasks, in
// order. Tasks that sent failure notices are in neither list.
func (p *RerunPlan) lay(d replay.Definition, earlier *engine.State, carried []engine.Carried) {
	took, groups := map[string]time.Duration{}, map[string]bool{}
	var made []string
	if earlier != nil {
		for _, t := range earlier.Tasks() {
			if groups[t.Name] = t.Group; t.State.Done() && !t.StartedAt.IsZero() {
				took[t.Name] = t.UpdatedAt.Sub(t.StartedAt)
			}
			if strings.Contains(t.Name, "^") {
				made = append(made, t.Name)
			}
		}
	}
	static := map[string]bool{}
	for _, n := range d.Compiled.Nodes {
		static[n.Name], groups[n.Name] = true, n.Group
	}
	over := map[string]engine.Carried{}
	for _, x := range carried {
		written, _, _ := strings.Cut(x.Name, "^")
		if !static[written] {
			p.Gone++
			continue
		}
		over[x.Name] = x
	}
	add := func(name string, isMade bool) {
		t := RerunTask{Name: name, Group: groups[name], Made: isMade, Took: took[name]}
		if x, ok := over[name]; ok {
			t.Skipped, t.Parameters = x.Skipped, x.Parameters()
			p.Carried = append(p.Carried, t)
		} else {
			p.Runs = append(p.Runs, t)
		}
	}
	for _, n := range d.Compiled.Nodes[1:] {
		add(n.Name, false)
	}
	for _, name := range slices.Compact(made) {
		if written, _, _ := strings.Cut(name, "^"); static[written] && !engine.OfFailure(name) {
			add(name, true)
		}
	}
}

// mostEarlier limits how many attempts are searched to find one session's attempts.
const mostEarlier = 1000

// earlier lists the existing attempts of the session that is started again.
func (c lifecycle) earlier(ctx context.Context, w host.Workflow, r StartRequest) ([]host.Attempt, error) {
	list, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: r.Site, Project: w.Project.ID, Workflow: w.Name, Retried: true, Count: mostEarlier})
	var same []host.Attempt
	for _, a := range list {
		if a.SessionTime.Equal(r.SessionTime) {
			same = append(same, a)
		}
	}
	return same, err
}
