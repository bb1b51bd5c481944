package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zerodag/internal/host"
)

// Check looks after all runners: what is silent is lost, what never came up is given up, and
// where commands have waited for long another runner is launched. It says how many there
// were. It is called every 20 seconds while there are some, else every minute; overlap and
// pauses are harmless.
func (s *Service) Check(ctx context.Context) (runners int, err error) {
	list, err := s.Runners.Runners(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("read runners: %w", err)
	}
	var failed error
	crowded := map[string]bool{}
	for _, r := range list {
		failed = errors.Join(failed, s.check(ctx, r, crowded))
	}
	return len(list), failed
}

func (s *Service) check(ctx context.Context, r Runner, crowded map[string]bool) error {
	now := s.Now()
	switch {
	case r.Fenced: // the process that did so was cut off
		return s.bury(ctx, r, "its runner was ended", "")
	case r.Task == "" && !s.fresh(r):
		crowded[fmt.Sprint(r.Attempt, r.Class)] = true
		return s.revive(ctx, r)
	case r.Seen.IsZero() && now.Sub(r.Launched) > startTime:
		return s.lose(ctx, r, fmt.Sprintf("the machine did not come up within %v", startTime), true)
	case !r.Seen.IsZero() && now.Sub(r.Seen) > silence:
		return s.lose(ctx, r, fmt.Sprintf("the machine has said nothing for %v", silence), false)
	}
	group := fmt.Sprint(r.Attempt, r.Class)
	if crowded[group] || r.Seen.IsZero() {
		crowded[group] = true // one that is to come up may be enough
		return nil
	}
	crowded[group] = true
	waiting, err := s.Commands.Waiting(ctx, r.Attempt, r.Class, 1)
	if err != nil || len(waiting) == 0 || now.Sub(waiting[0].CreatedAt) < impatience {
		return err
	}
	return s.grow(ctx, r)
}

// revive launches a runner that could not be launched before, unless no command waits for it.
func (s *Service) revive(ctx context.Context, r Runner) error {
	waiting, err := s.Commands.Waiting(ctx, r.Attempt, r.Class, 1)
	if err != nil {
		return err
	}
	if len(waiting) == 0 && r.Seen.IsZero() {
		if err := s.Runners.Remove(ctx, r.Name(), r.Asked); !errors.Is(err, host.ErrConflict) {
			return err
		}
		return nil // a command came in between
	}
	err = s.launch(ctx, r)
	switch {
	case errors.Is(err, ErrBusy):
		return nil // the next round
	case err != nil && !errors.Is(err, host.ErrUnavailable): // each command meets it by itself, and says so
		err = errors.Join(err, s.tell(ctx, r, ""))
	}
	return err
}

// grow launches one more runner like this one, if there may be more.
func (s *Service) grow(ctx context.Context, like Runner) error {
	all, err := s.Runners.Runners(ctx, like.Attempt)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r Runner) bool { return r.Class == like.Class && r.Seen.IsZero() }) {
		return nil // one comes up already
	}
	free := freeSlots(all, like.Class)
	if len(free) == 0 {
		return nil
	}
	err = s.start(ctx, Command{Attempt: like.Attempt, Class: like.Class, Site: like.Site, Project: like.Project}, like.Of, free[0])
	if errors.Is(err, ErrBusy) {
		return nil // the next round
	}
	return err
}

// lose ends a runner that is gone: its commands run again elsewhere.
func (s *Service) lose(ctx context.Context, r Runner, why string, start bool) error {
	if _, err := s.Runners.Fence(ctx, r.Name()); errors.Is(err, host.ErrNotFound) {
		return nil
	} else if err != nil && !errors.Is(err, host.ErrConflict) {
		return err
	}
	s.Logger.Warn("a runner was lost", "runner", r.Name(), "attempt", r.Attempt, "why", why)
	trouble := ""
	if start {
		trouble = why
	}
	return s.bury(ctx, r, why, trouble)
}

// Ending says what the end of a machine means for the next one.
type Ending int

// The endings.
const (
	Lost   Ending = iota // another machine may fare better
	NoRoom               // there was no room for it: later there may be
	Final                // no other one would fare better: the image is not there, say
)

// Stopped is told that the machine of a runner has ended, and why.
func (s *Service) Stopped(ctx context.Context, name, why string, ending Ending) error {
	r, err := s.Runners.Runner(ctx, name)
	if errors.Is(err, host.ErrNotFound) || errors.Is(err, errUnknownRunner) {
		return nil // it has left
	} else if err != nil {
		return err
	}
	if !r.Seen.IsZero() {
		return s.lose(ctx, r, why, false)
	}
	switch ending {
	case Final:
		err = s.fail(ctx, r, why)
	case NoRoom:
		err = s.keepPlace(ctx, r, why)
	}
	if err != nil {
		return err
	}
	return s.lose(ctx, r, why, ending != NoRoom)
}

// keepPlace puts a runner in place of one that found no room, which Check launches in a
// while. It comes first: who is told of the other's end is not to launch one at once.
func (s *Service) keepPlace(ctx context.Context, r Runner, why string) error {
	all, err := s.Runners.Runners(ctx, r.Attempt)
	if err != nil {
		return err
	}
	for _, slot := range freeSlots(all, r.Class) {
		next := newRunner(r.Attempt, r.Of, slot, s.Now())
		next.Asked, next.Site, next.Project, next.Refused = r.Asked, r.Site, r.Project, why
		if err := s.Runners.AddRunner(ctx, next); !errors.Is(err, host.ErrConflict) {
			return err
		}
	}
	return nil
}

// fail ends the commands that wait for runners that can never be launched.
func (s *Service) fail(ctx context.Context, r Runner, why string) error {
	waiting, err := s.Commands.Waiting(ctx, r.Attempt, r.Class, 0)
	for _, c := range waiting {
		over, e := s.Commands.End(ctx, c.Attempt, c.Key, "", Result{Why: why})
		err = errors.Join(err, s.told(ctx, over, e))
	}
	return err
}
