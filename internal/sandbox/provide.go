package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"zerodag/internal/host"
)

// provision describes the runners that a waiting command may expect.
type provision struct {
	warm    bool   // a runner is up
	refused string // why no runner is up now
	again   bool   // the caller must retry, because it was refused
}

// relaunch repeats a runner's launch that was refused or cut off.
func (s *Service) relaunch(ctx context.Context, r Runner, p *provision) error {
	if r.Task == "" && !p.again && !s.fresh(r) {
		return p.tried(s.launch(ctx, r))
	}
	p.refused = cmp.Or(p.refused, r.Refused)
	return nil
}

// provide makes sure that there is, or will be, a runner for a waiting command.
func (s *Service) provide(ctx context.Context, c Command, class Class) (p provision, err error) {
	all, err := s.Runners.Runners(ctx, c.Attempt)
	if err != nil {
		return p, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(r Runner) bool { return r.Class != c.Class || !s.usable(r) })
	asked, room := false, 0
	for _, r := range list {
		if err := s.relaunch(ctx, r, &p); err != nil {
			return p, err
		}
		if !asked {
			err := s.Liveness.Ask(ctx, r.Name())
			if err != nil && !errors.Is(err, host.ErrNotFound) {
				return p, err
			}
			asked = err == nil
		}
		room += max(0, class.Depth()-r.Load)
		p.warm = p.warm || r.Load < class.Slots() && !r.Seen.IsZero()
	}
	if asked {
		waiting, err := s.Work.Waiting(ctx, c.Attempt, c.Class, room+1)
		if err != nil || len(waiting) <= room {
			return p, err
		}
	}
	if free := freeSlots(all, c.Class); len(free) > 0 {
		return p, p.tried(s.start(ctx, c, class, free[0]))
	}
	return p, nil // the limit on runners is reached: an existing runner runs the command later
}

// usable reports whether a runner can be expected to run commands: it is starting, or has polled recently.
func (s *Service) usable(r Runner) bool {
	return !r.Fenced && !s.silent(r) && !s.aged(r)
}

// silent reports whether a joined runner has not polled for a while.
func (s *Service) silent(r Runner) bool {
	return !r.Seen.IsZero() && s.Now().Sub(r.Seen) > silence
}

// freeSlots returns the slots that no runner of a class has, in order.
func freeSlots(runners []Runner, class string) []int {
	var free []int
	for slot := range MaxRunners {
		if !slices.ContainsFunc(runners, func(r Runner) bool { return r.Class == class && r.Slot == slot }) {
			free = append(free, slot)
		}
	}
	return free
}

// tried records that a launch was refused, which is not an error.
func (p *provision) tried(err error) error {
	if errors.Is(err, ErrBusy) {
		p.refused, p.again = err.Error(), true
		return nil
	}
	return err
}

// fresh reports whether another process may be launching the runner now, or was refused a moment ago.
func (s *Service) fresh(r Runner) bool { return s.Now().Sub(r.Launched) < later(0) }

// start launches a new runner; another caller may do the same at the same time.
func (s *Service) start(ctx context.Context, c Command, class Class, slot int) error {
	r := newRunner(c.Attempt, class, slot, s.Now())
	r.Asked, r.Site, r.Project = 1, c.Site, c.Project
	if err := s.Runners.AddRunner(ctx, r); errors.Is(err, host.ErrConflict) {
		return nil // the other caller launches the same runner, also for this command
	} else if err != nil {
		return err
	}
	return s.launch(ctx, r)
}

func (s *Service) launch(ctx context.Context, r Runner) error {
	ticket, err := s.Keys.sign(ctx, ticketKind, r.Name())
	if err != nil {
		return err
	}
	task, err := s.Launcher.Launch(ctx, r, ticket)
	switch {
	case errors.Is(err, host.ErrUnavailable):
		return err // the row stays, so the next caller tries again
	case errors.Is(err, ErrBusy):
		if e := s.Runners.Refused(ctx, r.Name(), err.Error(), s.Now()); e != nil && !errors.Is(e, host.ErrNotFound) {
			return e
		}
		return err
	case err != nil:
		e := s.Runners.Discard(ctx, r.Name(), -1)
		if errors.Is(e, host.ErrConflict) { // an earlier launch, cut off before it was recorded, has started it
			return nil
		}
		return errors.Join(err, e)
	}
	if err := s.Runners.Launched(ctx, r.Name(), task, s.Now()); err != nil && !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return nil
}

// dismiss ends a runner: its reports no longer count.
func (s *Service) dismiss(ctx context.Context, r Runner, why string) error {
	return s.end(ctx, r, why, fate{})
}

// fate describes what is known about how a runner ended.
type fate struct {
	over    bool   // its machine has ended
	trouble string // why it never came up, for the commands that wait for a runner
}

// end takes all rights from a runner, and handles the consequences.
func (s *Service) end(ctx context.Context, r Runner, why string, e fate) error {
	fenced, err := s.Fences.Fence(ctx, r.Name(), why)
	switch {
	case errors.Is(err, host.ErrNotFound):
		return nil
	case err == nil:
		s.Logger.Warn("ending a runner", "runner", r.Name(), "attempt", r.Attempt, "why", why)
	case !errors.Is(err, host.ErrConflict):
		return err
	}
	return s.bury(ctx, fenced, e)
}

// bury cleans up after a fenced runner: it stops the machine and, once it has ended, marks its commands as lost and
// wakes the tasks that wait for them. A command of the machine never runs elsewhere before that. The row stays until
// the alarms about it have been raised. If bury is cut off, the next Check repeats it.
func (s *Service) bury(ctx context.Context, r Runner, e fate) error {
	failed := s.warn(ctx, r)
	if !e.over {
		failed = errors.Join(failed, s.Launcher.Stop(ctx, r, r.Why))
		if !r.Seen.IsZero() {
			return failed
		}
	} // a runner that has not joined cannot have commands
	list, err := s.Work.Claimed(ctx, r.Attempt, r.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, c := range list {
		over, err := s.Commands.End(ctx, c.Attempt, c.Key, r.Name(), Result{Lost: true, Why: cmp.Or(r.Why, "its runner was ended")})
		failed = errors.Join(failed, s.told(ctx, over, err))
	}
	failed = errors.Join(failed, s.tell(ctx, r, e.trouble))
	if failed != nil {
		return fmt.Errorf("end runner %s: %w", r.Name(), failed)
	}
	return s.Runners.Remove(ctx, r.Name(), -1)
}

// tell wakes the tasks whose commands wait for runners of a class.
func (s *Service) tell(ctx context.Context, r Runner, trouble string) error {
	waiting, err := s.Work.Waiting(ctx, r.Attempt, r.Class, MaxRunners*r.Of.Depth()+1)
	for _, c := range waiting {
		noted, e := s.Work.Note(ctx, c.Attempt, c.Key, trouble)
		err = errors.Join(err, s.told(ctx, noted, e))
	}
	return err
}
