package catalogue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// PastAttempt is an attempt that ended on another server.
type PastAttempt struct {
	ID                          string // on that server; used in messages
	Project, Revision, Workflow string // names; Revision is "" if it is unknown
	Row                         host.PastAttempt
}

// PastResult is the outcome of importing attempts.
type PastResult struct {
	Added   int
	Present int // they exist, or retention has removed them, or their session has started here
	// Missing counts attempts whose project or workflow does not exist here.
	Missing []MissingWorkflow
	Refused []string // what is wrong with each attempt that cannot come from any server
}

// MissingWorkflow is a workflow, or a whole project (Workflow is ""), that does not exist here.
type MissingWorkflow struct {
	Project, Workflow string
	Attempts          int
}

// ImportAttempts adds another server's attempts in the given order, which must be the order in which they started. It
// may be repeated. With dry it changes nothing and counts what it would do.
func (c *Catalogue) ImportAttempts(ctx context.Context, site int64, list []PastAttempt, dry bool) (PastResult, error) {
	var result PastResult
	find := definitions{c: c, site: site, projects: map[string]host.Project{}, found: map[[3]string]host.Workflow{}}
	var rows []host.PastAttempt
	for _, p := range list {
		w, err := find.of(ctx, p)
		if err != nil {
			return result, err
		}
		switch wrong := p.check(c.o.Now()); {
		case w.ID == 0:
			result.missing(w.Project.Name, w.Name)
		case wrong != nil:
			result.Refused = append(result.Refused, fmt.Sprintf("attempt %s of workflow %s in project %s: %s", p.ID, p.Workflow, p.Project, wrong))
		default:
			p.Row.Site, p.Row.Project, p.Row.Workflow = site, w.Project, host.Ref{ID: w.ID, Name: w.Name}
			p.Row.Params = param.DataMap(p.Row.Params)
			if p.Row.Zone == "" {
				p.Row.Zone = w.Zone
			}
			rows = append(rows, p.Row)
		}
	}
	var err error
	if dry {
		result.Added, err = c.newAmong(ctx, rows)
	} else if len(rows) > 0 {
		result.Added, err = c.o.Attempts.Import(ctx, rows...)
	}
	if err != nil {
		return result, fmt.Errorf("import attempts: %w", err)
	}
	result.Present = len(rows) - result.Added
	return result, nil
}

func (r *PastResult) missing(project, workflow string) {
	i := slices.IndexFunc(r.Missing, func(m MissingWorkflow) bool { return m.Project == project && m.Workflow == workflow })
	if i < 0 {
		i, r.Missing = len(r.Missing), append(r.Missing, MissingWorkflow{Project: project, Workflow: workflow})
	}
	r.Missing[i].Attempts++
}

// newAmong counts the attempts that an import would add. It reads nothing that retention has removed.
func (c *Catalogue) newAmong(ctx context.Context, rows []host.PastAttempt) (n int, err error) {
	for _, p := range rows {
		w := host.Workflow{Site: p.Site, Project: p.Project, Name: p.Workflow.Name}
		sessions, err := c.o.Sessions.Sessions(ctx, host.SessionQuery{Site: w.Site, Project: w.Project.ID, Workflow: w.Name, Times: []time.Time{p.SessionTime}})
		if err != nil {
			return 0, err
		}
		if len(sessions) > 0 {
			if last := sessions[0].Last; !last.Imported || last.CreatedAt.After(p.CreatedAt) {
				continue
			}
			_, found, err := c.lifecycle.attemptNamed(ctx, w, p.SessionTime, p.RetryName)
			if err != nil {
				return 0, err
			}
			if found {
				continue
			}
		}
		n++
	}
	return n, nil
}

var uuidForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
})

// check returns an error for a record that no attempt can have.
func (p PastAttempt) check(now time.Time) error {
	r := p.Row
	switch {
	case !uuidForm().MatchString(r.SessionUUID):
		return fmt.Errorf("invalid session UUID %q", param.Shortened(r.SessionUUID))
	case r.SessionTime.Nanosecond() != 0:
		return errors.New("its session time has a fraction of a second")
	case r.FinishedAt.Before(r.CreatedAt):
		return errors.New("it ended before it began")
	case r.FinishedAt.After(now.Add(24 * time.Hour)): // clocks may differ, but not by a day
		return errors.New("it ends in the future")
	}
	if r.Zone != "" {
		if _, err := schedule.Zone(r.Zone); err != nil {
			return err
		}
	}
	if r.RetryName != "" {
		if err := names.Retry(r.RetryName); err != nil {
			return err
		}
	}
	return given.CheckSize(r.Params)
}

// definitions finds the workflows of one import.
type definitions struct {
	c        *Catalogue
	site     int64
	projects map[string]host.Project
	found    map[[3]string]host.Workflow
}

// of returns the definition that an attempt ran: that of its revision, or else of the newest revision. For a missing
// one, the ID is 0, and the name is empty if the whole project is missing.
func (d definitions) of(ctx context.Context, p PastAttempt) (w host.Workflow, err error) {
	key := [3]string{p.Project, p.Revision, p.Workflow}
	if w, known := d.found[key]; known {
		return w, nil
	}
	project, known := d.projects[p.Project]
	if !known {
		if project, err = d.c.projectNamed(ctx, d.site, p.Project); err != nil {
			return w, err
		}
		d.projects[p.Project] = project
	}
	if project.ID == 0 {
		return host.Workflow{Project: host.Ref{Name: p.Project}}, nil
	}
	w, err = d.c.definitionIn(ctx, project, p.Revision, p.Workflow)
	if err == nil && w.ID == 0 {
		w.Project.Name, w.Name = p.Project, p.Workflow
	}
	if err == nil {
		d.found[key] = w
	}
	return w, err
}

// projectNamed returns a project; its ID is 0 if there is none.
func (c *stores) projectNamed(ctx context.Context, site int64, name string) (host.Project, error) {
	if name == "" { // without a name the query would return any project
		return host.Project{}, nil
	}
	list, err := c.o.Projects.Projects(ctx, host.ProjectQuery{Site: site, Name: name, Count: 1})
	if err != nil || len(list) == 0 {
		return host.Project{}, err
	}
	return list[0], nil
}

// definitionIn returns a workflow of a revision, or else of the newest one; its ID is 0 if neither has it.
func (c *stores) definitionIn(ctx context.Context, p host.Project, revision, workflow string) (host.Workflow, error) {
	if workflow == "" {
		return host.Workflow{}, nil
	}
	var ids []int64
	if revision != "" && revision != p.Latest.Name {
		list, err := c.o.Projects.Revisions(ctx, host.RevisionQuery{Site: p.Site, Project: p.ID, Name: revision, Count: 1})
		if err != nil && !errors.Is(err, host.ErrNotFound) {
			return host.Workflow{}, err
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range append(ids, p.Latest.ID) {
		list, err := c.o.Workflows.Workflows(ctx, host.WorkflowQuery{Site: p.Site, Revision: id, Name: workflow, Count: 1})
		if err != nil || len(list) > 0 {
			return append(list, host.Workflow{})[0], err
		}
	}
	return host.Workflow{}, nil
}

// PastSchedule is a schedule's state on another server.
type PastSchedule struct {
	Project, Workflow string
	Times             host.Times // Last is zero if it is unknown
	DisabledAt        time.Time
}

// Enabling selects whether another server's schedules are enabled here.
type Enabling string

// The values of Enabling.
const (
	AsHere    Enabling = "here"     // unchanged
	AsThere   Enabling = "there"    // as on the other server
	NeverHere Enabling = "disabled" // disabled
)

// Outcomes of importing a schedule.
const (
	ScheduleSet     = "set"     // it continues from its position on the other server
	ScheduleMissing = "missing" // the project has no such schedule here
	ScheduleAhead   = "ahead"   // it has already started that session here, and stays unchanged
)

// ImportedSchedule is the outcome for a schedule of another server.
type ImportedSchedule struct {
	PastSchedule
	Outcome string
	Now     host.Schedule // unless it is missing
}

// ImportSchedules lets schedules continue from where they are on another server. The position may be in the past: a
// schedule never starts a session that exists. Without a last session, it is the newest one that the schedule has and
// that exists here, so attempts must be imported first.
func (c *Catalogue) ImportSchedules(ctx context.Context, site int64, list []PastSchedule, enabling Enabling, dry bool) ([]ImportedSchedule, error) {
	var done []ImportedSchedule
	for _, p := range list {
		one, err := c.importSchedule(ctx, site, p, enabling, dry)
		if err != nil {
			return done, fmt.Errorf("import the schedule of workflow %s in project %s: %w", p.Workflow, p.Project, err)
		}
		done = append(done, one)
	}
	return done, nil
}

// errAhead stops the change to a schedule that has continued here.
var errAhead = errors.New("the schedule has continued")

func (c *Catalogue) importSchedule(ctx context.Context, site int64, p PastSchedule, enabling Enabling, dry bool) (ImportedSchedule, error) {
	one := ImportedSchedule{PastSchedule: p, Outcome: ScheduleMissing}
	project, err := c.projectNamed(ctx, site, p.Project)
	if err != nil || project.ID == 0 || p.Workflow == "" {
		return one, err
	}
	there, err := c.o.Schedules.Schedules(ctx, host.ScheduleQuery{Site: site, Project: project.ID, Workflow: p.Workflow, Count: 1})
	if err != nil || len(there) == 0 {
		return one, err
	}
	one.Outcome = ScheduleSet
	one.Now, err = c.change(ctx, site, there[0].ID, dry, func(s *planned) error {
		if !s.Times.Last.Before(p.Times.Session) {
			return errAhead
		}
		last := p.Times.Last
		if last.IsZero() {
			var err error
			if last, err = c.lastOf(ctx, s, p.Times.Session); err != nil {
				return err
			}
		}
		s.Times = host.Times{Run: p.Times.Run.UTC(), Session: p.Times.Session.UTC(), Last: last}
		switch enabling {
		case AsThere:
			s.DisabledAt = p.DisabledAt
		case NeverHere:
			if s.DisabledAt.IsZero() {
				s.DisabledAt = c.o.Now().UTC()
			}
		case AsHere:
		}
		return nil
	})
	if errors.Is(err, errAhead) {
		one.Outcome, one.Now, err = ScheduleAhead, there[0], nil
	}
	return one, err
}

// mostLooked limits how many sessions are passed over because they are not on the schedule.
const mostLooked = 100

// lastOf returns the newest session before t that the schedule has; zero if there is none.
func (c *Catalogue) lastOf(ctx context.Context, s *planned, t time.Time) (time.Time, error) {
	for range mostLooked {
		last, err := c.o.Sessions.LastSession(ctx, s.Project.ID, s.Workflow.Name, t)
		if err != nil || last.IsZero() || s.times.Has(last) {
			return last, err
		}
		t = last
	}
	return time.Time{}, nil
}
