package localrun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/schedule"
	"zerodag/internal/term"
	"zerodag/operators"
)

// chooseSession chooses the session time and prints it.
func (r *run) chooseSession(zone *time.Location) error {
	t, why, err := r.sessionTime(zone, time.Now())
	if err != nil {
		return err
	}
	r.sessionAt = t
	if r.Original() {
		if why != "" {
			r.log.Message(operators.Warn, "io.digdag.cli.Run", why.original(t))
		}
		return nil
	}
	fmt.Fprintf(r.Err, "Session %s%s\n", operators.FormatTime(t), why.plain())
	return nil
}

// sessionChoice is the reason for a session time that the user did not name.
type sessionChoice string

const (
	sessionNamed     sessionChoice = ""
	sessionSaved     sessionChoice = "Reusing the last session time %s."
	sessionScheduled sessionChoice = "Using a new session time %s based on schedule."
	sessionToday     sessionChoice = "Using a new session time %s."
)

func (c sessionChoice) original(t time.Time) string {
	return fmt.Sprintf(string(c), operators.FormatTime(t))
}

func (c sessionChoice) plain() string {
	switch c {
	case sessionSaved:
		return ", that of the last run; --session selects a different one"
	case sessionScheduled:
		return ", the latest one of its schedule"
	case sessionToday:
		return ", which is today"
	}
	return ""
}

// sessionTime chooses the session time for --session, in the workflow's zone.
func (r *run) sessionTime(zone *time.Location, now time.Time) (time.Time, sessionChoice, error) {
	now = now.In(zone)
	today := schedule.StartOfDay(now.Year(), now.Month(), now.Day(), zone)
	sched, err := r.schedule(zone)
	if err != nil {
		return time.Time{}, "", err
	}
	switch r.Session {
	case "hourly":
		return today.Add(now.Sub(today).Truncate(time.Hour)), sessionNamed, nil
	case "daily", "today":
		return today, sessionNamed, nil
	case "yesterday":
		return schedule.Local(time.Date(now.Year(), now.Month(), now.Day()-1, 0, 0, 0, 0, time.UTC), zone), sessionNamed, nil
	case "schedule":
		if sched == nil {
			return time.Time{}, "", errors.New("--session schedule is set but schedule is not set to this workflow.")
		}
		return sched.Last(now).Time.In(zone), sessionNamed, nil
	case "last":
		last, found := lastSession(r.saved(), r.Workflow.Name)
		switch {
		case found:
			return last.In(zone), sessionSaved, nil
		case sched != nil:
			return sched.Last(now).Time.In(zone), sessionScheduled, nil
		}
		return today, sessionToday, nil
	}
	if t, err := time.Parse(time.DateOnly, r.Session); err == nil {
		return schedule.StartOfDay(t.Year(), t.Month(), t.Day(), zone), sessionNamed, nil
	}
	if t, ok := term.ParseOffset(r.Session); ok {
		return t.In(zone), sessionNamed, nil
	}
	for _, form := range term.LocalForms() {
		if t, err := time.Parse(form, r.Session); err == nil {
			return schedule.Local(t, zone), sessionNamed, nil
		}
	}
	if err := term.Impossible("--session", r.Session, time.DateOnly, time.DateTime); err != nil {
		return time.Time{}, "", err
	}
	return time.Time{}, "", fmt.Errorf("--session must be hourly, daily, last, \"yyyy-MM-dd\", or \"yyyy-MM-dd HH:mm:SS\" format: %s (config)", r.Session)
}

func (r *run) schedule(zone *time.Location) (*schedule.Schedule, error) {
	return dig.ScheduleHere(r.Workflow.Config, zone)
}

// sessionForm is the layout of a session's state folder name.
const sessionForm = "20060102T150405-0700"

// lastSession finds a workflow's newest session with saved state.
func lastSession(dir, workflow string) (time.Time, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return time.Time{}, false
	}
	var newest time.Time
	for _, e := range entries {
		t, err := time.Parse(sessionForm, e.Name())
		if err == nil && e.IsDir() && t.After(newest) && hasState(filepath.Join(dir, e.Name()), workflow) {
			newest = t
		}
	}
	return newest, !newest.IsZero()
}

func hasState(dir, workflow string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "+"+fileName(workflow))
		if ok && strings.HasSuffix(rest, ".yml") && (rest[0] == '+' || rest[0] == '^') {
			return true
		}
	}
	return false
}
