package sandbox

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// provide sees to it that there is, or will be, a runner for a command that waits. warm says
// that one is up.
func (s *Service) provide(ctx context.Context, c Command, class Class) (warm bool, err error) {
	all, err := s.Runners.Runners(ctx, c.Attempt)
	if err != nil {
		return false, err
	}
	var list []Runner
	for _, r := range all {
		if r.Class == c.Class && !r.Fenced {
			list = append(list, r)
		}
	}
	asked, room := false, 0
	taken := map[int]bool{}
	for _, r := range list {
		taken[r.Slot] = true
		if r.Task == "" { // whoever was to launch it may have been cut off
			if err := s.launch(ctx, r); err != nil {
				return false, err
			}
		}
		if !asked {
			err := s.Runners.Ask(ctx, r.Name())
			if err != nil && !errors.Is(err, host.ErrNotFound) {
				return false, err
			}
			asked = err == nil
		}
		room += max(0, class.depth()-r.Load)
		warm = warm || r.Load < class.Slots() && s.Now().Sub(r.Seen) < silence
	}
	if asked {
		waiting, err := s.Commands.Waiting(ctx, c.Attempt, c.Class, room+1)
		if err != nil || len(waiting) <= room {
			return warm, err
		}
	}
	for slot := range MaxRunners {
		if !taken[slot] {
			return warm, s.start(ctx, c, class, slot)
		}
	}
	return warm, nil // there are as many as there may be: they take it in turn
}

// start launches a new runner; another caller may do the same at the same time.
func (s *Service) start(ctx context.Context, c Command, class Class, slot int) error {
	r := newRunner(c.Attempt, class, slot, s.Now())
	r.Asked, r.Site, r.Project = 1, c.Site, c.Project
	if err := s.Runners.AddRunner(ctx, r); errors.Is(err, host.ErrConflict) {
		return nil // it launches the same, for this command too
	} else if err != nil {
		return err
	}
	return s.launch(ctx, r)
}

func (s *Service) launch(ctx context.Context, r Runner) error {
	task, err := s.Launcher.Launch(ctx, r)
	if errors.Is(err, ErrBusy) || errors.Is(err, host.ErrUnavailable) {
		return err // the row stays: who comes next tries again
	}
	if err != nil {
		return errors.Join(err, s.Runners.Remove(ctx, r.Name(), -1))
	}
	if err := s.Runners.Launched(ctx, r.Name(), task); err != nil && !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return nil
}

// dismiss ends a runner: from now on nothing that it says counts.
func (s *Service) dismiss(ctx context.Context, r Runner, why string) error {
	if _, err := s.Runners.Fence(ctx, r.Name()); err != nil && !errors.Is(err, host.ErrConflict) && !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return s.bury(ctx, r, why, "")
}

// bury does what is to be done about a runner that is fenced: the machine is stopped, its
// commands are lost, those that wait for it are told. Cut off, it is done again.
func (s *Service) bury(ctx context.Context, r Runner, why, trouble string) error {
	var failed error
	if r.Task != "" {
		failed = s.Launcher.Stop(ctx, r.Task, why)
	}
	list, err := s.Commands.Claimed(ctx, r.Attempt, r.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, c := range list {
		over, err := s.Commands.End(ctx, c.Attempt, c.Key, r.Name(), Result{Lost: true, Why: why})
		failed = errors.Join(failed, s.told(ctx, over, err))
	}
	failed = errors.Join(failed, s.tell(ctx, r, trouble))
	if failed != nil {
		return fmt.Errorf("end runner %s: %w", r.Name(), failed)
	}
	return s.Runners.Remove(ctx, r.Name(), -1)
}

// tell has the tasks whose commands wait for runners of a class look again.
func (s *Service) tell(ctx context.Context, r Runner, trouble string) error {
	waiting, err := s.Commands.Waiting(ctx, r.Attempt, r.Class, MaxRunners*r.Of.depth()+1)
	for _, c := range waiting {
		noted, e := s.Commands.Note(ctx, c.Attempt, c.Key, trouble)
		err = errors.Join(err, s.told(ctx, noted, e))
	}
	return err
}
