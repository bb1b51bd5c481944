package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"zerodag/internal/host"
)

// Check checks all runners: a runner whose machine has ended is lost, a runner that never came up is given up, and if
// commands have waited for a long time, another runner is launched. It returns how many runners there are. It is called
// every 20 seconds while runners exist, otherwise every minute; overlaps and pauses are harmless.
func (s *Service) Check(ctx context.Context) (runners int, err error) {
	list, err := s.Runners.Runners(ctx, 0)
	if err != nil {
		return 0, fmt.Errorf("read runners: %w", err)
	}
	over, failed := s.ended(ctx, list)
	if w, sweeps := s.Launcher.(Sweeper); sweeps {
		failed = errors.Join(failed, w.Sweep(ctx, list))
	}
	groups := map[string][]Runner{}
	for _, r := range list {
		name := fmt.Sprint(r.Attempt, r.Class)
		groups[name] = append(groups[name], r)
	}
	names := slices.Sorted(maps.Keys(groups))
	return len(list), errors.Join(failed, sideBySide(names, func(name string) error { return s.checkGroup(ctx, groups[name], over) }))
}

// abreast is how many groups of runners are checked at a time.
const abreast = 16

// sideBySide calls do for each element of a list, several at a time.
func sideBySide[T any](list []T, do func(T) error) error {
	var all sync.WaitGroup
	room, failed := make(chan struct{}, abreast), make([]error, len(list))
	for i, x := range list {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			failed[i] = do(x)
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// ended checks whether silent machines, or machines that must stay silent, have ended. A machine that cannot be queried
// has not ended.
func (s *Service) ended(ctx context.Context, list []Runner) (map[string]string, error) {
	quiet := slices.DeleteFunc(slices.Clone(list), func(r Runner) bool {
		if r.Seen.IsZero() {
			return r.Fenced || r.Task == "" || s.Now().Sub(r.Launched) <= unheardTime
		}
		return !r.Fenced && !s.silent(r)
	})
	if len(quiet) == 0 {
		return nil, nil
	}
	over, err := s.Launcher.Ended(ctx, quiet)
	if err != nil {
		return over, fmt.Errorf("query the machines of %d runners: %w", len(quiet), err)
	}
	return over, nil
}

// checkGroup checks the runners of one class of an attempt.
func (s *Service) checkGroup(ctx context.Context, group []Runner, over map[string]string) error {
	var failed error
	coming, lost := false, false
	for _, r := range group {
		failed = errors.Join(failed, s.check(ctx, r, over, &lost))
		coming = coming || r.Seen.IsZero() && !r.Fenced
	}
	if coming || lost { // a runner that is starting may be enough, and woken tasks check themselves
		return failed
	}
	waiting, err := s.Work.Waiting(ctx, group[0].Attempt, group[0].Class, 1)
	if err != nil || len(waiting) == 0 || s.Now().Sub(waiting[0].CreatedAt) < impatience {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, s.grow(ctx, group[0]))
}

// checkFenced handles a runner that may no longer run anything.
func (s *Service) checkFenced(ctx context.Context, r Runner, ended bool) error {
	if r.Left && !r.Twice && !ended && r.Of.endsItself() && s.Now().Sub(r.Launched) <= startTime {
		return nil // its machine ends on its own, or has yet to show the ticket that another machine has used
	}
	return s.bury(ctx, r, fate{over: ended})
}

// check checks one runner, and sets lost if the runner has ended.
func (s *Service) check(ctx context.Context, r Runner, over map[string]string, lost *bool) error {
	now := s.Now()
	why, ended := over[r.Name()]
	comes := r.Seen.IsZero() && !r.Fenced
	ended = ended && (!comes || why == Gone) // if it ended before it came up, an event gives the reason
	switch {
	case r.Fenced:
		*lost = ended || r.Seen.IsZero()
		return s.checkFenced(ctx, r, ended)
	case ended:
		*lost = true
		if comes {
			if err := s.keepPlace(ctx, r, why); err != nil {
				return err
			}
		}
		return s.end(ctx, r, why, fate{over: true})
	case !r.Seen.IsZero() && now.Sub(r.Seen) > deafTime:
		return s.end(ctx, r, fmt.Sprintf("the machine has not responded for %v", deafTime), fate{})
	case r.Task == "" && !s.fresh(r): // it was not launched, or its launcher was cut off before it recorded the launch
		return s.revive(ctx, r)
	case r.Seen.IsZero() && now.Sub(r.Launched) > startTime:
		*lost = true
		return s.late(ctx, r, fmt.Sprintf("the machine did not start within %v", startTime))
	}
	return nil
}

// late gives up a runner that has not come up. This counts as a lack of capacity, not as trouble with its commands: a
// machine that could not be created would have ended, and a machine that runs but cannot join does not mean that the
// image is wrong, but that the API is unavailable.
func (s *Service) late(ctx context.Context, r Runner, why string) error {
	if err := s.keepPlace(ctx, r, why); err != nil {
		return err
	}
	return s.end(ctx, r, why, fate{})
}

// revive launches a runner that could not be launched before, unless no command waits for it. It was listed a while
// ago, and another process may have launched it since: a runner that has joined stays.
func (s *Service) revive(ctx context.Context, r Runner) error {
	waiting, err := s.Work.Waiting(ctx, r.Attempt, r.Class, 1)
	if err != nil {
		return err
	}
	if len(waiting) == 0 && r.Seen.IsZero() {
		if err := s.Runners.Discard(ctx, r.Name(), r.Asked); !errors.Is(err, host.ErrConflict) {
			return err
		}
		return nil // a command or the machine has arrived meanwhile
	}
	err = s.launch(ctx, r)
	switch {
	case errors.Is(err, ErrBusy):
		return nil // wait for the next check
	case err != nil && !errors.Is(err, host.ErrUnavailable): // each command encounters the error and reports it
		err = errors.Join(err, s.tell(ctx, r, ""))
	}
	return err
}

// grow launches one more runner like this one, if the limit allows it.
func (s *Service) grow(ctx context.Context, like Runner) error {
	all, err := s.Runners.Runners(ctx, like.Attempt)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r Runner) bool { return r.Class == like.Class && r.Seen.IsZero() }) {
		return nil // one is already coming up
	}
	free := freeSlots(all, like.Class)
	if len(free) == 0 {
		return nil
	}
	err = s.start(ctx, Command{Attempt: like.Attempt, Class: like.Class, Site: like.Site, Project: like.Project}, like.Of, free[0])
	if errors.Is(err, ErrBusy) {
		return nil // wait for the next check
	}
	return err
}

// Ending describes what the end of a machine means for the next machine.
type Ending int

// The endings.
const (
	Lost   Ending = iota // another machine may succeed
	NoRoom               // there was no capacity for it; there may be later
	Final                // no other machine would succeed, for example because the image is missing
)

// Stopped handles the end of a runner's machine, with its reason.
func (s *Service) Stopped(ctx context.Context, name, why string, how Ending) error {
	r, err := s.Runners.Runner(ctx, name)
	if errors.Is(err, host.ErrNotFound) {
		return nil // it has left
	} else if err != nil {
		return err
	}
	if !r.Seen.IsZero() {
		return s.end(ctx, r, why, fate{over: true})
	}
	switch how {
	case Final:
		err = s.fail(ctx, r, why)
	case NoRoom:
		err = s.keepPlace(ctx, r, why)
	}
	if err != nil {
		return err
	}
	e := fate{over: true, trouble: why}
	if how == NoRoom {
		e.trouble = ""
	}
	return s.end(ctx, r, why, e)
}

// keepPlace puts a runner in place of a runner that found no capacity; Check launches it after a while. It comes first,
// so that a task woken by the other's end does not launch one at once.
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
	waiting, err := s.Work.Waiting(ctx, r.Attempt, r.Class, 0)
	for _, c := range waiting {
		over, e := s.Commands.End(ctx, c.Attempt, c.Key, "", Result{Why: why})
		err = errors.Join(err, s.told(ctx, over, e))
	}
	return err
}
