package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zerodag/engine/schedule"
	"zerodag/operators"
)

// sessionTime chooses the session time that --session asks for, in the workflow's zone.
func (r *localRun) sessionTime(zone *time.Location, now time.Time) (time.Time, error) {
	now = now.In(zone)
	today := schedule.Local(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC), zone)
	sched, err := r.schedule(zone)
	if err != nil {
		return time.Time{}, err
	}
	warn := func(text string, t time.Time, more string) time.Time {
		r.log.message(operators.Warn, "io.digdag.cli.Run", text+" "+operators.FormatTime(t.In(zone))+more+".")
		return t.In(zone)
	}
	switch r.session {
	case "hourly":
		return today.Add(now.Sub(today).Truncate(time.Hour)), nil
	case "daily":
		return today, nil
	case "schedule":
		if sched == nil {
			return time.Time{}, errors.New("--session schedule is set but schedule is not set to this workflow.")
		}
		return sched.Last(now).Time.In(zone), nil
	case "last":
		last, found := lastSession(r.saved(), r.workflow.Name)
		switch {
		case found:
			return warn("Reusing the last session time", last, ""), nil
		case sched != nil:
			return warn("Using a new session time", sched.Last(now).Time, " based on schedule"), nil
		}
		return warn("Using a new session time", today, ""), nil
	}
	for _, form := range []string{"2006-01-02", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(form, r.session); err == nil {
			return schedule.Local(t, zone), nil
		}
	}
	return time.Time{}, fmt.Errorf("--session must be hourly, daily, last, \"yyyy-MM-dd\", or \"yyyy-MM-dd HH:mm:SS\" format: %s (config)", r.session)
}

func (r *localRun) schedule(zone *time.Location) (*schedule.Schedule, error) {
	config := r.workflow.Config.Map("schedule")
	if config == nil {
		return nil, nil
	}
	return schedule.ParseHere(config, zone)
}

// sessionForm is how the folder of a session's state is named.
const sessionForm = "20060102T150405-0700"

// lastSession finds the newest session that has saved state of a workflow.
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
