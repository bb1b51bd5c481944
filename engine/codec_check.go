package engine

import (
	"fmt"
	"slices"

	"zerodag/engine/dig"
)

// maxSize limits the size that stored text may claim before memory is allocated for it.
const maxSize = 10_000_000

// checkChange refuses a change that no attempt could have made. Only Apply can find out whether it fits its attempt.
func checkChange(c Change) error {
	switch c := c.(type) {
	case AttemptStarted:
		return c.Slot.Check()
	case PauseChanged:
		return c.Slot.Check()
	case TasksAdded:
		return c.check()
	case TaskChanged:
		if err := checkID(c.Task); err != nil {
			return err
		}
		return c.Progress.check()
	case Skipped:
		return checkID(c.Task)
	case SubtreeCanceled:
		return checkID(c.Task)
	case GroupRestarted:
		if c.Group < Root || c.First <= c.Group || c.First > maxSize {
			return fmt.Errorf("copies below %d cannot have ids from %d", c.Group, c.First)
		}
	case Growing:
		return c.check()
	}
	return nil
}

func (c TasksAdded) check() error {
	if c.Parent < Root || c.First <= c.Parent || c.From < 0 || c.From+len(c.Nodes) > maxSize || c.First > maxSize {
		return fmt.Errorf("tasks below %d cannot have ids from %d", c.Parent, c.First)
	}
	for _, u := range c.After {
		if u < Root || u >= c.First {
			return fmt.Errorf("task %d cannot wait for task %d", c.First, u)
		}
	}
	return checkNodes(c.Nodes, c.From)
}

func checkID(id TaskID) error {
	if id < Root || id > maxSize {
		return fmt.Errorf("task %d does not exist", id)
	}
	return nil
}

func checkNodes(nodes []dig.Node, from int) error {
	for i, n := range nodes {
		if n.Parent < -1 || n.Parent >= from+i {
			return fmt.Errorf("node %d cannot have the parent %d", from+i, n.Parent)
		}
		for _, u := range n.Upstreams {
			if u < 0 || u >= from+i {
				return fmt.Errorf("node %d cannot wait for node %d", from+i, u)
			}
		}
	}
	return nil
}

func (p Progress) check() error {
	if int(p.State) >= len(stateNames) || int(p.Ending) >= len(stateNames) {
		return fmt.Errorf("unknown state %d or %d", p.State, p.Ending)
	}
	if !slices.Contains([]Closing{"", ClosingCancel, ClosingFinally, ClosingFailed}, p.Closing) {
		return fmt.Errorf("unknown outcome of a task: %q", p.Closing)
	}
	if p.Idle < 0 || p.Idle > max(p.Dispatch, 0) {
		return fmt.Errorf("invalid count of numbers without a run: %d of %d", p.Idle, p.Dispatch)
	}
	if t := p.Timeout; t != nil && (t.Try < 0 || t.Total < 0 || t.Warn < 0 || t.Grace < 0 || t.Timer < 0) {
		return fmt.Errorf("invalid time limits of a task: %v for each attempt and %v in total", t.Try, t.Total)
	}
	return p.Pool.Check()
}

func (g growth) check() error {
	if g.Owner < Root || g.First <= g.Owner || g.First > maxSize || g.Next < 1 || g.Next > g.Total || g.Total > maxSize {
		return fmt.Errorf("task %d cannot have generated subtasks", g.First)
	}
	return nil
}
