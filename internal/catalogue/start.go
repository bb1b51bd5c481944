package catalogue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/resume"
	"zerodag/events"
	"zerodag/internal/catalogue/given"
	"zerodag/internal/catalogue/names"
	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
	"zerodag/internal/replay"
)

// StartRequest requests an attempt.
type StartRequest struct {
	Site        int64
	Workflow    int64     // id of the definition
	SessionTime time.Time // identifies the session together with Workflow's project and name; precise to the second
	// RetryName is the name of another attempt of a session. A session has one attempt of each name, including "":
	// starting the same one again is a Conflict, so a start may be repeated without harm.
	RetryName string
	Params    *param.Map
	Resume    *Resume // nil: from the beginning
	// Labels are strings by which users find the attempt; with Resume they override the earlier attempt's labels.
	Labels *param.Map
	// Priority is the keyword for the attempt's importance among waiting ones (`_priority`); "" means the priority of the
	// attempt that Resume names, else "normal".
	Priority string
	// Outside means that the caller who provides Params may not push, or is unknown: no parameter may decide what a task
	// does.
	Outside bool
	// At is when the attempt will begin; zero or a time in the past means now. The attempt exists at once.
	At time.Time
	// Once marks an automatic start, as in host.NewAttempt. host.ErrForgotten then means that the session was removed.
	Once bool

	runTime      time.Time // of a schedule; zero means now
	lastExecuted time.Time // session time of the schedule's last start
	carried      []engine.Carried
	priority     int // id of the attempt whose results are taken over
}

// Resume selects the earlier attempt whose results are taken over.
type Resume struct {
	Mode    string // "failed" or "from"
	Attempt int64
	From    string // task pattern, for "from"
}

// refused is a host error in the form that API callers see.
type refused struct {
	why   error
	shown host.Error
}

func (r *refused) Error() string { return r.shown.Message }

func (r *refused) Unwrap() []error { return []error{r.why, &r.shown} }

// Start starts an attempt. Its row, entry 1 and the first message are stored together, or in a way that Revive can
// repair; then package delivery handles it. A repeated call with the same session and retry name starts nothing and
// returns an *Error with code Conflict and the existing attempt. The limit of attempts is soft: concurrent starts may
// exceed it by a few.
func (c lifecycle) Start(ctx context.Context, r StartRequest) (host.Attempt, error) {
	n, err := c.prepare(ctx, r)
	if err != nil {
		return host.Attempt{}, err
	}
	list, err := c.o.Attempts.Start(ctx, n)
	if errors.Is(err, host.ErrConflict) && len(list) == 1 {
		return host.Attempt{}, errExists(list[0])
	}
	if errors.Is(err, host.ErrForgotten) {
		return host.Attempt{}, &refused{host.ErrForgotten, host.Error{Code: host.Invalid, Message: fmt.Sprintf(
			"the session %s of workflow %s had expired and was removed; it may have run: start it manually if it should run again", sessiontime.Text(n.SessionTime), n.Workflow.Name)}}
	}
	if err != nil {
		return host.Attempt{}, fmt.Errorf("start attempt: %w", err)
	}
	c.counts.started.Add(1)
	c.began(list[0])
	return list[0], nil
}

// StartPlan is what Start would do.
type StartPlan struct {
	Params   *param.Map // parameters of the start, with the workflow's defaults and types
	Warnings []string
}

// PlanStart fails if Start would fail. It changes nothing.
func (c lifecycle) PlanStart(ctx context.Context, r StartRequest) (StartPlan, error) {
	d, err := c.definitionOf(ctx, r.Site, r.Workflow)
	if err != nil {
		return StartPlan{}, err
	}
	if _, err := c.prepare(ctx, r); err != nil {
		return StartPlan{}, err
	}
	a, found, err := c.attemptNamed(ctx, d.Workflow, r.SessionTime.UTC().Truncate(time.Second), r.RetryName)
	switch {
	case err != nil:
		return StartPlan{}, err
	case found:
		return StartPlan{}, errExists(a)
	}
	params, err := r.given().For(d.Workflow.Name, d.Workflow.Config)
	return StartPlan{params, given.Warnings(d.Workflow.Config, r.Params)}, err
}

// StartWarnings returns the warnings that PlanStart would have returned for a workflow that was started.
func (c lifecycle) StartWarnings(ctx context.Context, site, workflow int64, params *param.Map) []string {
	d, err := c.definitionOf(ctx, site, workflow)
	if err != nil {
		return nil // the workflow was readable a moment ago, and the attempt has started in any case
	}
	return given.Warnings(d.Workflow.Config, params)
}

// prepare creates the records of a start if all checks allow it.
func (c lifecycle) prepare(ctx context.Context, r StartRequest) (host.NewAttempt, error) {
	d, err := c.definitionOf(ctx, r.Site, r.Workflow)
	if err != nil {
		return host.NewAttempt{}, err
	}
	if err := c.mayStart(ctx, r.Site, d, 1); err != nil {
		return host.NewAttempt{}, c.startedBefore(ctx, d.Workflow, r, err)
	}
	if r.Params, err = r.given().For(d.Workflow.Name, d.Workflow.Config); err != nil {
		return host.NewAttempt{}, err
	}
	if r.Resume != nil {
		before, err := c.attempt(ctx, r.Site, r.Resume.Attempt)
		if err != nil {
			return host.NewAttempt{}, err
		}
		if r.carried, r.priority, err = c.carried(ctx, before, *r.Resume); err != nil {
			return host.NewAttempt{}, err
		}
		r.Labels = param.Merge(before.Labels, r.Labels)
	}
	if err := names.Labels(r.Labels); err != nil {
		return host.NewAttempt{}, err
	}
	if r.At, err = c.startTime(r.At); err != nil {
		return host.NewAttempt{}, err
	}
	if r.Priority != "" {
		if r.priority, err = given.Priority(r.Priority); err != nil {
			return host.NewAttempt{}, err
		}
	}
	if r.At.IsZero() { // otherwise the engine applies it at the start time
		if err := c.mayBeOneMore(ctx, d, r); err != nil {
			return host.NewAttempt{}, err
		}
	}
	return c.newAttempt(d, r)
}

func errExists(a host.Attempt) error {
	return &host.Error{Code: host.Conflict, Existing: &a, Message: alreadyExists(a)}
}

func alreadyExists(a host.Attempt) string {
	return fmt.Sprintf("Attempt of project id=%d workflow=%s instant=%s attempt name=%s already exists", a.Project.ID, a.Workflow.Name, sessiontime.Text(a.SessionTime), a.RetryName)
}

// startedBefore returns the existing attempt to a caller that repeats a start, even while the project is paused.
func (c lifecycle) startedBefore(ctx context.Context, w host.Workflow, r StartRequest, why error) error {
	if !errors.Is(why, host.ErrPaused) {
		return why
	}
	a, found, err := c.attemptNamed(ctx, w, r.SessionTime.UTC().Truncate(time.Second), r.RetryName)
	switch {
	case err != nil:
		return err
	case found:
		return errExists(a)
	}
	return why
}

// attemptNamed finds a session's attempt with the given retry name.
func (c *stores) attemptNamed(ctx context.Context, w host.Workflow, session time.Time, name string) (host.Attempt, bool, error) {
	sessions, err := c.o.Sessions.Sessions(ctx, host.SessionQuery{Site: w.Site, Project: w.Project.ID, Workflow: w.Name, Times: []time.Time{session}})
	if err != nil || len(sessions) == 0 {
		return host.Attempt{}, false, err
	}
	list, err := c.o.Sessions.Attempts(ctx, host.AttemptQuery{Site: w.Site, Session: sessions[0].ID, Retried: true})
	if err != nil {
		return host.Attempt{}, false, err
	}
	if i := slices.IndexFunc(list, func(a host.Attempt) bool { return a.RetryName == name }); i >= 0 {
		return list[i], true, nil
	}
	return host.Attempt{}, false, nil
}

// FarthestStart is how far ahead an attempt may be started: until then it exists and counts against the limit of
// attempts, and its log is kept.
const FarthestStart = 30 * 24 * time.Hour

// startTime returns the second at which an attempt begins, zero for now. A fraction is rounded up so that nothing
// begins before the requested time.
func (c lifecycle) startTime(at time.Time) (time.Time, error) {
	now := c.o.Now()
	switch at = at.Add(time.Second - time.Nanosecond).UTC().Truncate(time.Second); {
	case at.Sub(now) > FarthestStart:
		return at, host.Invalidf("An attempt may begin at most %d days from now, but %s is later: give the workflow a schedule with `once>`, or start it later", FarthestStart/(24*time.Hour), sessiontime.Text(at))
	case !at.After(now):
		return time.Time{}, nil
	}
	return at, nil
}

// began logs in the program's own log that an attempt has begun.
func (c *stores) began(a host.Attempt) { c.o.Logger.Info("attempt started", named(a)...) }

// named returns the attributes that describe an attempt in the program's own log.
func named(a host.Attempt) []any {
	return []any{"attempt", a.ID, "project", a.Project.Name, "workflow", a.Workflow.Name, "session", a.SessionTime.UTC().Format(time.RFC3339)}
}

// mayStart returns an error if the site may not have n more attempts of a workflow.
func (c lifecycle) mayStart(ctx context.Context, site int64, d replay.Definition, n int) error {
	p, err := c.o.Projects.Project(ctx, site, d.Workflow.Project.ID)
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	if !p.DeletedAt.IsZero() {
		return errDeleted(p)
	}
	if !p.Paused.IsZero() {
		return errPaused(p)
	}
	if c.o.Retention != nil && d.Workflow.Revision.ID != p.Latest.ID {
		if err := c.holdArchive(ctx, d.Workflow); err != nil {
			return err
		}
	}
	active, err := c.o.Sessions.CountActive(ctx, site, c.o.Limits.Attempts)
	if err != nil {
		return fmt.Errorf("count attempts: %w", err)
	}
	if active+n > c.o.Limits.Attempts {
		return &refused{host.ErrTooManyAttempts, host.Error{Code: host.Invalid, Message: fmt.Sprintf("Too many attempts running. Limit: %d, Current: %d", c.o.Limits.Attempts, active)}}
	}
	return userError(d.Compiled.CheckLimit(c.o.Limits.Tasks))
}

func errDeleted(p host.Project) error {
	return &host.Error{Code: host.Missing, Message: fmt.Sprintf("Project id=%d is already deleted at %s", p.ID, sessiontime.Text(p.DeletedAt))}
}

func errPaused(p host.Project) error {
	text := fmt.Sprintf("Project %s has been paused since %s by %s", p.Name, sessiontime.Text(p.Paused.At), cmp.Or(p.Paused.By, "an unknown user"))
	if p.Paused.Reason != "" {
		text += " (" + p.Paused.Reason + ")"
	}
	return &refused{host.ErrPaused, host.Error{Code: host.Invalid, Message: text + fmt.Sprintf(": none of its workflows start until `zerodag project unpause %s`", p.Name)}}
}

// given returns the parameters that the request passes on.
func (r StartRequest) given() given.Params {
	return given.Params{Map: r.Params, Outside: r.Outside, Again: r.RetryName != ""}
}

// newAttempt prepares the row, entry 1 and the first message.
func (c lifecycle) newAttempt(d replay.Definition, r StartRequest) (host.NewAttempt, error) {
	params, err := given.ForSession(d.Workflow.Config, d.Compiled.Zone, r.SessionTime, r.lastExecuted, r.Params)
	if err != nil {
		return host.NewAttempt{}, userError(err)
	}
	now := c.o.Now().UTC()
	first, err := c.first(d, params, r.SessionTime, now, engine.Start{Carried: r.carried, RunAt: r.runTime, Priority: r.priority, At: r.At})
	if err != nil {
		return host.NewAttempt{}, err
	}
	labels := r.Labels
	if labels.Len() == 0 {
		labels = nil
	}
	return host.NewAttempt{
		Site: r.Site, Project: d.Workflow.Project, Workflow: host.Ref{ID: d.Workflow.ID, Name: d.Workflow.Name},
		SessionTime: r.SessionTime.UTC().Truncate(time.Second), RetryName: r.RetryName, Once: r.Once, Zone: d.Workflow.Zone,
		Params: params, Labels: labels, CreatedAt: now, StartsAt: r.At, WaitsFor: -1, First: first, Message: host.StartMessage(),
	}, nil
}

// first returns the entry that begins an attempt's log: the engine's response to the start. It is computed here so that
// the attempt exists with its first tasks or not at all. The first message, which has the guard of the start, carries
// out the effects of entry 1.
func (c lifecycle) first(d replay.Definition, params *param.Map, session, now time.Time, start engine.Start) (host.Entry, error) {
	var err error
	if start.Slot, err = c.slotOf(d, params, session, start.NoSLA); err != nil {
		return host.Entry{}, userError(err)
	}
	start.By, start.Params, start.Limit = engine.By{Guard: host.StartGuard}, params, c.o.Limits.Tasks
	state := engine.New(d.Compiled, c.o.Defaults)
	changes, why := state.Step(start, now)
	if why != "" {
		return host.Entry{}, fmt.Errorf("start attempt: %s", why)
	}
	text, err := engine.EncodeChanges(changes)
	if err != nil {
		return host.Entry{}, err
	}
	return host.Entry{Seq: 1, Nonce: rand.Text(), At: now, Events: events.EncodeList([]events.Event{{Kind: events.Start}}), Changes: text}, nil
}

// carried lists what a resumed attempt takes over from an earlier one, and the earlier attempt's priority.
func (c lifecycle) carried(ctx context.Context, a host.Attempt, r Resume) (list []engine.Carried, priority int, err error) {
	var wrong error
	err = c.View(ctx, a, func(s *engine.State) {
		if s != nil {
			priority = s.Priority()
		}
		switch {
		case s == nil:
			wrong = nothingToResume(a)
		case r.Mode == "failed":
			list, wrong = resume.Failed(s)
		case r.Mode == "from":
			list, wrong = resume.Before(s, r.From)
		default:
			wrong = host.Invalidf("unknown resume mode %q: use failed or from", r.Mode)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return list, priority, userError(wrong)
}

// userError turns an error in a project's files into an error for the caller.
func userError(err error) error {
	var own *host.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, host.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &host.Error{Code: host.Invalid, Message: withoutFolders(err)}
}

// withoutFolders returns an error's text without the folders in its file paths: clients must not find out where a
// server keeps its files.
func withoutFolders(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) && filepath.IsAbs(file.Path) {
		text = strings.ReplaceAll(text, filepath.Dir(file.Path)+string(filepath.Separator), "")
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		for _, name := range []string{link.Old, link.New} {
			if !filepath.IsAbs(name) {
				continue
			}
			text = strings.ReplaceAll(text, filepath.Dir(name)+string(filepath.Separator), "")
		}
	}
	return text
}

func (c lifecycle) attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	a, err := c.o.Attempts.Attempt(ctx, site, id)
	if errors.Is(err, host.ErrNotFound) {
		return host.Attempt{}, host.Missingf("session attempt id=%d", id)
	}
	return a, err
}
