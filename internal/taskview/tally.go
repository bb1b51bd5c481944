package taskview

import (
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/internal/term"
)

// Tally counts tasks that do work, not groups that only contain others.
type Tally struct{ Total, Done, Failed, Running, Waiting int }

func (c *Tally) add(r Row) {
	c.Total++
	switch {
	case r.State == engine.Success:
		c.Done++
	case r.State.Error():
		c.Failed++
	case r.waits():
		c.Waiting++
	case r.active():
		c.Running++
	}
}

func (c *Tally) plus(d Tally) {
	c.Total += d.Total
	c.Done += d.Done
	c.Failed += d.Failed
	c.Running += d.Running
	c.Waiting += d.Waiting
}

// words lists the kinds of tasks that occur, with how many there are of each.
func (c Tally) words() string {
	return listed([]string{fmt.Sprintf("%d of %d done", c.Done, c.Total)}, some{c.Running, "running"}, some{c.Waiting, "waiting"}, some{c.Failed, "failed"})
}

// some is a count of tasks of one kind.
type some struct {
	n    int
	what string
}

// listed adds the kinds whose count is not 0.
func listed(parts []string, kinds ...some) string {
	for _, k := range kinds {
		if k.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	return strings.Join(parts, ", ")
}

// AtEnd returns the outcome of all tasks in words, such as "2 of 3 tasks succeeded, 1 failed".
func (c Tally) AtEnd() string {
	text := fmt.Sprintf("%d of %s succeeded", c.Done, term.Counted(c.Total, "task"))
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if rest := c.Total - c.Done - c.Failed; rest > 0 {
		text += fmt.Sprintf(", %d did not finish", rest)
	}
	return text
}

// others describes how many tasks of a group, by kind, are not shown.
func (c Tally) others(over bool) string {
	left := "to come"
	if over {
		left = "did not run"
	}
	return "... " + listed(nil, some{c.Done, "done"}, some{c.Failed, "failed"}, some{c.Running, "running"}, some{c.Waiting, "waiting"},
		some{c.Total - c.Done - c.Failed - c.Running - c.Waiting, left})
}
