package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/events"
	"zerodag/operators"
)

// StartRequest asks for an attempt.
type StartRequest struct {
	Site        int64
	Workflow    int64 // id of the definition
	SessionTime time.Time
	RetryName   string
	Params      *param.Map
	Resume      *Resume // nil: from the beginning
	// Outside says that whoever gives Params may not push, or is not known at all: they are
	// data, and none of them may decide what a task does.
	Outside bool

	runTime      time.Time // of a schedule; zero is now
	lastExecuted time.Time // session time of the schedule's last start
	carried      []engine.Carried
}

// Resume says which earlier attempt's results are taken over.
type Resume struct {
	Mode    string // "failed" or "from"
	Attempt int64
	From    string // task pattern, for "from"
}

// errTooManyAttempts lets schedules and `require>` tell this refusal from others.
var errTooManyAttempts = errors.New("too many attempts running")

type tooMany struct{ shown Error }

func (t *tooMany) Error() string   { return t.shown.Message }
func (t *tooMany) Unwrap() []error { return []error{errTooManyAttempts, &t.shown} }

// startGuard is the guard of entry 1: the message that Attempts.Start sends.
const startGuard = "start"

// Start starts an attempt. An *Error of code Conflict carries the attempt that exists.
func (h *Host) Start(ctx context.Context, r StartRequest) (Attempt, error) {
	d, err := h.definition(ctx, r.Site, r.Workflow)
	if errors.Is(err, ErrNotFound) {
		return Attempt{}, missingf("workflow id=%d", r.Workflow)
	}
	if err != nil {
		return Attempt{}, userError(err)
	}
	if err := h.mayStart(ctx, r.Site, d, 1); err != nil {
		return Attempt{}, err
	}
	if r.Params, err = h.given(ctx, d.workflow, r); err != nil {
		return Attempt{}, err
	}
	if r.Resume != nil {
		if r.carried, err = h.carried(ctx, r.Site, *r.Resume); err != nil {
			return Attempt{}, err
		}
	}
	n, err := h.newAttempt(d, r)
	if err != nil {
		return Attempt{}, err
	}
	list, err := h.Attempts.Start(ctx, n)
	if errors.Is(err, ErrConflict) && len(list) == 1 {
		a := list[0]
		return Attempt{}, &Error{Code: Conflict, Existing: &a, Message: fmt.Sprintf(
			"Attempt of project id=%d workflow=%s instant=%s attempt name=%s already exists", a.Project.ID, a.Workflow.Name,
			a.SessionTime.UTC().Format(time.RFC3339), r.RetryName)}
	}
	if err != nil {
		return Attempt{}, fmt.Errorf("start attempt: %w", err)
	}
	h.stats.started.Add(1)
	return list[0], nil
}

// mayStart says whether the site may have n more attempts of a workflow.
func (h *Host) mayStart(ctx context.Context, site int64, d definition, n int) error {
	p, err := h.Projects.Project(ctx, site, d.workflow.Project.ID)
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	if !p.DeletedAt.IsZero() {
		return deleted(p)
	}
	active, err := h.Sessions.CountActive(ctx, site, h.Limits.Attempts)
	if err != nil {
		return fmt.Errorf("count attempts: %w", err)
	}
	if active+n > h.Limits.Attempts {
		return &tooMany{Error{Code: Invalid, Message: fmt.Sprintf("Too many attempts running. Limit: %d, Current: %d", h.Limits.Attempts, active)}}
	}
	return userError(d.compiled.CheckLimit(h.Limits.Tasks))
}

func deleted(p Project) error {
	return &Error{Code: Missing, Message: fmt.Sprintf("Project id=%d is already deleted at %s", p.ID, instant(p.DeletedAt))}
}

// instant writes a time as the API shows instants: UTC, seconds.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// newAttempt prepares the row, entry 1 and the first message.
func (h *Host) newAttempt(d definition, r StartRequest) (NewAttempt, error) {
	params, err := SessionParams(d.workflow.Config, d.compiled.Zone, r.SessionTime, r.lastExecuted, r.Params)
	if err != nil {
		return NewAttempt{}, userError(err)
	}
	now := h.Now().UTC()
	first, err := h.first(d, params, now, engine.Start{Carried: r.carried, RunAt: r.runTime})
	if err != nil {
		return NewAttempt{}, err
	}
	return NewAttempt{
		Site: r.Site, Project: d.workflow.Project, Workflow: Ref{d.workflow.ID, d.workflow.Name},
		SessionTime: r.SessionTime.UTC().Truncate(time.Second), RetryName: r.RetryName, Zone: d.workflow.Zone,
		Params: params, CreatedAt: now, WaitsFor: -1, First: first, Message: startMessage(),
	}, nil
}

func startMessage() Message {
	return Message{ID: startGuard, Body: events.Encode(events.Event{Kind: events.Start})}
}

// first is the entry that begins an attempt's log.
func (h *Host) first(d definition, params *param.Map, now time.Time, start engine.Start) (Entry, error) {
	start.By, start.Params, start.Limit = engine.By{Guard: startGuard}, params, h.Limits.Tasks
	state := engine.New(d.compiled, h.Defaults)
	changes, why := state.Step(start, now)
	if why != "" {
		return Entry{}, fmt.Errorf("start attempt: %s", why)
	}
	text, err := engine.EncodeChanges(changes)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Seq: 1, Nonce: rand.Text(), At: now, Events: events.EncodeList([]events.Event{{Kind: events.Start}}), Changes: text}, nil
}

// SessionParams adds to an attempt's parameters what a workflow with a schedule is told
// (engine.md 2.3). lastExecuted is zero when no session was started before.
func SessionParams(config *param.Map, zone *time.Location, session, lastExecuted time.Time, params *param.Map) (*param.Map, error) {
	if params == nil {
		params = param.New()
	}
	c := config.Map("schedule")
	if c == nil {
		return params, nil
	}
	s, err := schedule.ParseHere(c, zone)
	if err != nil {
		return nil, err
	}
	iso := func(t time.Time) string { return operators.FormatTime(t.In(zone)) }
	params = param.Merge(params, param.New("last_session_time", iso(s.Last(session).Time), "next_session_time", iso(s.Next(session).Time)))
	if !lastExecuted.IsZero() {
		params = param.Merge(params, param.New("last_executed_session_time", iso(lastExecuted)))
	}
	return params, nil
}

// carried lists what a resumed attempt takes over.
func (h *Host) carried(ctx context.Context, site int64, r Resume) ([]engine.Carried, error) {
	a, err := h.attempt(ctx, site, r.Attempt)
	if err != nil {
		return nil, err
	}
	var list []engine.Carried
	var wrong error
	err = h.View(ctx, a, func(s *engine.State) {
		switch {
		case s == nil:
			wrong = invalidf("Attempt id=%d was not started yet: nothing to resume from", a.ID)
		case r.Mode == "failed":
			list, wrong = s.CarryFailed()
		case r.Mode == "from":
			list, wrong = s.CarryBefore(r.From)
		default:
			wrong = invalidf("unknown resume mode %q: use failed or from", r.Mode)
		}
	})
	if err != nil {
		return nil, err
	}
	return list, userError(wrong)
}

// userError makes an error of a project's text one of the caller's.
func userError(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) || errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: Invalid, Message: withoutFolders(err)}
}

// withoutFolders is the text of an error in which files have no more than their names: where
// a server keeps things is nobody's business.
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

func (h *Host) attempt(ctx context.Context, site, id int64) (Attempt, error) {
	a, err := h.Attempts.Attempt(ctx, site, id)
	if errors.Is(err, ErrNotFound) {
		return Attempt{}, missingf("session attempt id=%d", id)
	}
	return a, err
}

// startWaiting begins attempts that wait for a session, once nothing of it goes on.
func (h *Host) startWaiting(ctx context.Context, session int64) error {
	waiting, err := h.Sessions.Waiting(ctx, session)
	if err != nil || len(waiting) == 0 {
		return err
	}
	before, err := h.Sessions.Attempts(ctx, AttemptQuery{Site: waiting[0].Site, Session: session, Retried: true})
	if err != nil {
		return err
	}
	for _, a := range before {
		if !a.Done {
			return nil
		}
	}
	for _, a := range waiting {
		if err := h.beginWaiting(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// beginWaiting starts an attempt that waited. Without its definition, or with one that is too
// large by now, it ends at once: those behind it must not wait for ever.
func (h *Host) beginWaiting(ctx context.Context, a Attempt) error {
	d, err := h.definition(ctx, a.Site, a.Workflow.ID)
	if err != nil && !errors.Is(err, errNoDefinition) {
		return err
	}
	if err == nil {
		err = d.compiled.CheckLimit(h.Limits.Tasks)
	}
	if err != nil {
		h.Logger.Error("backfill attempt cannot start", "attempt", a.ID, "error", err)
		return h.neverBegun(ctx, a)
	}
	first, err := h.first(d, a.Params, h.Now().UTC(), engine.Start{NoSLA: true})
	if err != nil {
		return err
	}
	err = h.Attempts.Begin(ctx, a.ID, first, startMessage())
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, ErrConflict):
		return fmt.Errorf("begin attempt %d: %w", a.ID, err)
	case h.Ticked: // begun by us, perhaps, and cut off before its first message
		return h.revive(ctx, a)
	}
	return nil
}

// neverBegun ends an attempt that cannot begin.
func (h *Host) neverBegun(ctx context.Context, a Attempt) error {
	end := End{At: h.Now().UTC()}
	if err := h.Attempts.Finish(ctx, a.ID, end); err != nil {
		return fmt.Errorf("finish attempt %d: %w", a.ID, err)
	}
	h.stats.ended(false)
	l := h.hold(a.ID)
	defer h.drop(l)
	l.over.Store(true)
	l.mu.Lock()
	l.row = a
	l.row.Done, l.row.FinishedAt = true, end.At
	l.tell()
	row := l.row
	l.mu.Unlock()
	if err := h.startWaiting(ctx, a.SessionID); err != nil {
		return err
	}
	return h.announceEnd(ctx, row)
}

// Kill requests the end of an attempt and returns it as it was before.
func (h *Host) Kill(ctx context.Context, site, id int64) (Attempt, error) {
	a, err := h.attempt(ctx, site, id)
	if err != nil {
		return Attempt{}, err
	}
	if a.Done || a.Canceled || a.Waits != 0 {
		return Attempt{}, conflictf("Session attempt already killed or finished")
	}
	return a, h.kill(ctx, a)
}

// kill sends the event first: a flag without a kill would refuse the next request.
func (h *Host) kill(ctx context.Context, a Attempt) error {
	if err := h.Events.Send(ctx, eventMessage(a.ID, "kill", events.Event{Kind: events.Kill})); err != nil {
		return fmt.Errorf("send kill: %w", err)
	}
	if err := h.Attempts.Cancel(ctx, a.ID); err != nil {
		return fmt.Errorf("flag attempt %d: %w", a.ID, err)
	}
	return nil
}
