package engine

import (
	"fmt"
	"strings"
)

// Recount compares every counter of the state with a count over all tasks.
func Recount(s *State) error {
	for _, t := range s.tasks {
		if t == nil {
			continue
		}
		if busy, occupied := s.recountedUnderWay(t); busy != t.busy || occupied != s.occupied {
			return fmt.Errorf("%s #%d has %d children under way and the attempt %d tasks, but they are %d and %d", t.Name, t.ID, t.busy, s.occupied, busy, occupied)
		}
		if err := s.abreast(t); err != nil {
			return err
		}
		if want := s.recounted(t); want != [4]int{t.waiting, t.active, t.failed, asInt(t.storing)} {
			return fmt.Errorf("%s #%d counts waiting, active, failed, storing %d %d %d %v, but they are %v",
				t.Name, t.ID, t.waiting, t.active, t.failed, t.storing, want)
		}
	}
	return nil
}

// recountedUnderWay counts all tasks that are subject to limits.
func (s *State) recountedUnderWay(t *Task) (busy, occupied int) {
	for _, c := range s.tasks {
		if c != nil {
			busy += asInt(c.Parent == t.ID && c.State >= Ready && c.State <= Planned)
			occupied += asInt(s.occupies(c))
		}
	}
	return busy, occupied
}

// abreast returns an error if a limit is exceeded, or if a task is delayed although a place is free.
func (s *State) abreast(t *Task) error {
	p := s.Task(t.Parent)
	switch {
	case s.canceled || s.ended:
	case t.sliding > 0 && t.busy > t.sliding:
		return fmt.Errorf("%s has %d children under way, and may have %d", t.Name, t.busy, t.sliding)
	case s.def.Tasks > 0 && s.occupied > s.def.Tasks:
		return fmt.Errorf("%d tasks run, and only %d may", s.occupied, s.def.Tasks)
	case t.Held && !s.noPlace(t) && s.paused == nil && !(t.Parent == 0 && s.Waits()):
		return fmt.Errorf("%s is not tried again although there is a place", t.Name)
	case p != nil && p.opensChildren() && t.State == Blocked && t.waiting == 0 && !s.holdsBack(t) && !s.crowded(t) && !s.undecided(t):
		return fmt.Errorf("%s does not start although nothing holds it back", t.Name)
	}
	return nil
}

func (s *State) recounted(t *Task) (counts [4]int) {
	for _, u := range t.Upstreams {
		counts[0] += asInt(!s.hasPassed(u))
	}
	for _, g := range s.growing {
		counts[1] += asInt(g.First == t.ID)
	}
	newest := map[string]*Task{}
	for _, c := range s.tasks {
		if c == nil || c.Parent != t.ID {
			continue
		}
		newest[c.Name] = c
		ready := c.State == Blocked
		for _, u := range c.Upstreams {
			ready = ready && s.hasPassed(u)
		}
		counts[1] += asInt(ready || c.State > Blocked && c.State < GroupError)
	}
	check := newest[t.Name+"^check"]
	for _, c := range newest {
		anew := t.Group && check != nil && c.ID > check.ID && strings.HasPrefix(c.Name, t.Name+"+")
		if anew { // its tasks run again because it failed
			delete(newest, check.Name)
			break
		}
	}
	for _, c := range newest {
		counts[2] += asInt(c.State == GroupError || c.State == Failed)
	}
	counts[3] = asInt(s.storesBelow(t))
	return counts
}

// hasPassed reports whether a task and all previous ones in its group have succeeded.
func (s *State) hasPassed(id TaskID) bool {
	t := s.tasks[id-1]
	for _, u := range t.Upstreams {
		if !s.hasPassed(u) {
			return false
		}
	}
	return t.State == Success
}

func (s *tree) storesBelow(t *Task) bool {
	if t.storing { // it is never reset: a later run may not store anything
		return true
	}
	for _, c := range s.tasks {
		if c != nil && (c == t || c.Parent == t.ID && c != t && s.storesBelow(c)) && c.stores() {
			return true
		}
	}
	return false
}
