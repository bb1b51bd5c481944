// Package filling contains the rules of backfills: their options, and the edits that record the outcome of their
// sessions.
//
// The catalogue stores the edited backfills. The package must not read a store or a clock.
package filling

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zerodag/internal/catalogue/sessiontime"
	"zerodag/internal/host"
)

// The orders in which a backfill can start its sessions.
const (
	OrderAscending  = "asc"
	OrderDescending = "desc"
)

// These values select how a backfill treats sessions that already exist.
const (
	ExistingError = "error" // the backfill is refused
	ExistingSkip  = "skip"  // they are skipped
	ExistingRetry = "retry" // they get another attempt, except running ones
)

// Limits on a backfill.
const (
	mostParallel     = 100
	shownOfExisting  = 5
	mostFailedListed = 100
)

// Edit changes a backfill and reports whether it did. It may be called several times, each time with a newly read
// backfill.
type Edit func(*host.Backfill) bool

// Nothing is an edit that changes nothing.
func Nothing(*host.Backfill) bool { return false }

// remove removes the first matching session from the running ones, unless the backfill has ended. It reports whether it
// did.
func remove(b *host.Backfill, matches func(host.BackfillRun) bool) bool {
	i := slices.IndexFunc(b.State.Running, matches)
	if i < 0 || !b.FinishedAt.IsZero() {
		return false
	}
	b.State.Running = slices.Delete(slices.Clone(b.State.Running), i, i+1)
	return true
}

// Begun returns an edit that records a session's attempt.
func Begun(r host.BackfillRun, attempt int64) Edit {
	return func(b *host.Backfill) bool {
		for i, x := range b.State.Running {
			if x.Session == r.Session && x.Attempt == 0 {
				b.State.Running = slices.Clone(b.State.Running)
				b.State.Running[i].Attempt = attempt
				return true
			}
		}
		if !b.FinishedAt.IsZero() {
			b.State.Running = append(b.State.Running, host.BackfillRun{Session: r.Session, Attempt: attempt})
		}
		return false
	}
}

// NotBegun returns an edit that records a session as skipped. If why is set, no more sessions can begin, for this
// reason.
func NotBegun(r host.BackfillRun, why string) Edit {
	return func(b *host.Backfill) bool {
		if !remove(b, func(x host.BackfillRun) bool { return x.Session == r.Session && x.Attempt == 0 }) {
			return false
		}
		b.State.LeftOut++
		if why != "" {
			b.State.Why = why
		}
		return true
	}
}

// Ended returns an edit that records an attempt's end once.
func Ended(a host.Attempt) Edit {
	return func(b *host.Backfill) bool {
		if b.Project.ID != a.Project.ID || b.Workflow.Name != a.Workflow.Name || !remove(b, func(r host.BackfillRun) bool {
			return r.Attempt == a.ID || r.Attempt == 0 && b.Plan.Sessions[r.Session].Equal(a.SessionTime)
		}) {
			return false
		}
		if a.Success {
			b.State.Succeeded++
			return true
		}
		if b.State.Failed++; len(b.State.FailedAttempts) < mostFailedListed {
			b.State.FailedAttempts = append(slices.Clone(b.State.FailedAttempts), a.ID)
		}
		return true
	}
}

// Together combines several edits so that one write stores them.
func Together(notes []Edit) Edit {
	return func(b *host.Backfill) (changed bool) {
		for _, note := range notes {
			changed = note(b) || changed
		}
		return changed
	}
}

// Lost returns an edit that records that a session will not run, because its attempt was never created or retention has
// removed it.
func Lost(r host.BackfillRun) Edit {
	return func(b *host.Backfill) bool {
		if !remove(b, func(x host.BackfillRun) bool { return x.Session == r.Session && x.Attempt == r.Attempt }) {
			return false
		}
		b.State.LeftOut++
		return true
	}
}

// InOrder returns the position in the plan of the nth session to begin.
func InOrder(p host.BackfillPlan, n int) int {
	if p.Descending {
		return len(p.Sessions) - 1 - n
	}
	return n
}

// MayBeginLater reports whether a session that could not start because of this error may start later.
func MayBeginLater(err error) bool {
	var user *host.Error
	return host.StartsLater(err) || !errors.As(err, &user)
}

// CheckOptions refuses invalid options; "" and 0 stand for the defaults.
func CheckOptions(parallel int, order, existing string) error {
	if parallel < 0 || parallel > mostParallel {
		return host.Invalidf("parallel is %d: a backfill runs 1 to %d sessions at once", parallel, mostParallel)
	}
	if order != "" && order != OrderAscending && order != OrderDescending {
		return host.Invalidf("unknown order %q: use %s or %s", order, OrderAscending, OrderDescending)
	}
	switch existing {
	case "", ExistingError, ExistingSkip, ExistingRetry:
		return nil
	}
	return host.Invalidf("existing is %q: use %s, %s or %s", existing, ExistingError, ExistingSkip, ExistingRetry)
}

// Same returns an error if the existing backfill with the name differs from the requested one.
func Same(there, asked host.Backfill) error {
	was, err := json.Marshal(there.Plan)
	if err != nil {
		return fmt.Errorf("compare backfills: %w", err)
	}
	is, err := json.Marshal(asked.Plan)
	if err != nil {
		return fmt.Errorf("compare backfills: %w", err)
	}
	if string(was) != string(is) {
		return host.Conflictf("Another backfill name=%s of workflow %s already exists: id=%d", there.Name, there.Workflow.Name, there.ID)
	}
	return nil
}

// RefuseExisting returns an error if a backfill must not contain existing sessions. The argument there holds the
// existing sessions by session time.
func RefuseExisting(existing, workflow string, there map[int64]host.Attempt) error {
	if existing != ExistingError || len(there) == 0 {
		return nil
	}
	var times []string
	for t := range there {
		times = append(times, sessiontime.Text(time.Unix(t, 0)))
	}
	slices.Sort(times)
	more := ""
	if n := len(times) - shownOfExisting; n > 0 {
		times, more = times[:shownOfExisting], fmt.Sprintf(" and %d more", n)
	}
	return host.Conflictf("Workflow %s already has these sessions: %s%s. `existing: skip` omits them, `existing: retry` runs them again", workflow, strings.Join(times, ", "), more)
}

// LeftOut reports whether an existing session is skipped.
func LeftOut(existing string, last host.Attempt) bool {
	switch existing {
	case ExistingError, ExistingSkip:
		return true
	case ExistingRetry:
		return !last.Done
	}
	return false
}
