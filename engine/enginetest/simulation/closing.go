package simulation

import (
	"fmt"

	"zerodag/engine"
)

// closings checks that a task's cleanup is created once, after everything else below it, and that only a second kill
// ends it. At the end, each task that was not killed has had its cleanup.
func (s *Attempt) closings() error {
	made := map[string]int{}
	for _, t := range s.state.Tasks() {
		if t.Parent != 0 {
			made[fmt.Sprint(t.Parent, t.Name)]++
		}
	}
	for _, t := range s.state.Tasks() {
		cancels, last := made[fmt.Sprint(t.ID, t.Name+"^cancel")], made[fmt.Sprint(t.ID, t.Name+"^finally")]
		if cancels > 1 || last > 1 || cancels+last > 0 && t.Closing == "" {
			return fmt.Errorf("%s, closing %q, has %d _cancel and %d _finally", t.Name, t.Closing, cancels, last)
		}
		if cancels > 0 && t.State.Done() && t.State != engine.Canceled {
			return fmt.Errorf("%s is %v although its _cancel ran", t.Name, t.State)
		}
		if err := s.closingOf(t); err != nil {
			return err
		}
		if err := s.leftUnclosed(t, cancels > 0, last > 0); err != nil {
			return err
		}
	}
	return nil
}

// leftUnclosed checks that an ended task has had its _cancel, if it was canceled, and its _finally, unless it was
// killed by force.
func (s *Attempt) leftUnclosed(t *engine.Task, canceled, closed bool) error {
	if s.forced {
		return nil
	}
	lacksFinally := t.Config.Map("_finally").Len() > 0 && !closed
	ran := t.State.Done() && t.State != engine.Canceled && !t.Resumed && t.Skipped == ""
	if ran && t.Level > 0 && lacksFinally {
		return fmt.Errorf("%s is %v and its _finally never came", t.Name, t.State)
	}
	began := t.State == engine.Canceled && !t.Group && !t.StartedAt.IsZero()
	if began && (lacksFinally || t.Config.Map("_cancel").Len() > 0 && !canceled) {
		return fmt.Errorf("%s was canceled and nothing came after", t.Name)
	}
	return nil
}

// closingOf checks the cleanup of one task while it is under way.
func (s *Attempt) closingOf(of *engine.Task) error {
	if of.Closing == "" || of.State.Done() {
		return nil
	}
	for _, t := range s.state.Tasks() {
		if t.Parent != of.ID || t.State == engine.Blocked || t.State.Done() {
			continue
		}
		if t.Name == of.Name+"^"+string(of.Closing) {
			if t.Cancel && !s.forced {
				return fmt.Errorf("%s is killed by a first kill", t.Name)
			}
		} else if t.Name != of.Name+engine.FailureAlert && len(t.Name) > 4 && t.Name[:len(of.Name)] == of.Name && t.Name[len(of.Name):][0] == '+' {
			return fmt.Errorf("%s continues next to the last tasks of %s", t.Name, of.Name)
		}
	}
	return nil
}
