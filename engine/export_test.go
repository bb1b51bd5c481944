package engine

import "fmt"

// Recount compares every counter of the state with what a look at all tasks says.
func Recount(s *State) error {
	for _, t := range s.tasks {
		if t == nil {
			continue
		}
		if want := s.recounted(t); want != [4]int{t.waiting, t.active, t.failed, asInt(t.storing)} {
			return fmt.Errorf("%s #%d counts waiting, active, failed, storing %d %d %d %v, but they are %v",
				t.Name, t.ID, t.waiting, t.active, t.failed, t.storing, want)
		}
	}
	return nil
}

func (s *State) recounted(t *Task) (counts [4]int) {
	for _, u := range t.Upstreams {
		counts[0] += asInt(s.tasks[u-1].State != Success)
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
			ready = ready && s.tasks[u-1].State == Success
		}
		counts[1] += asInt(ready || c.State > Blocked && c.State < GroupError)
	}
	for _, c := range newest {
		counts[2] += asInt(c.State == GroupError || c.State == Failed)
	}
	counts[3] = asInt(s.storesBelow(t))
	return counts
}

func (s *State) storesBelow(t *Task) bool {
	if t.storing { // once set it stays: a later run may store nothing
		return true
	}
	for _, c := range s.tasks {
		if c != nil && (c == t || c.Parent == t.ID && c != t && s.storesBelow(c)) && c.Outcome != nil && c.Outcome.stored() {
			return true
		}
	}
	return false
}
