package console

import (
	"context"
	"errors"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// Subject is what a queue message is about.
type Subject struct {
	// What names the purpose of the message: "run" runs tasks, "fire" fires schedules, "begin" starts an attempt that an
	// event requested, and "" is unknown to this program; all others are kinds of events (events.Kind).
	What    string
	Attempt *host.Attempt // nil: it is not about an attempt, or the attempt no longer exists
	Tasks   []string      // full names of the first mostNamed tasks; empty if they are unknown
	Count   int           // how many tasks it is about

	attempt int64
	runs    []engine.Run
}

// Maximum number of tasks of a message whose names are shown, and of attempts whose state is read to find them.
const (
	mostNamed  = 3
	mostOpened = 20
)

// SubjectOf returns the subject of a queue message. It uses only the message.
func SubjectOf(queue string, m host.Message) Subject {
	var s Subject
	if attempt, _, err := host.ParseMessageID(m.ID); err == nil {
		s.attempt = attempt
	}
	if queue == "events" {
		if e, err := events.Decode(m.Body); err == nil {
			s.of(e)
		}
		return s
	}
	t, err := events.DecodeTask(m.Body)
	switch {
	case err != nil:
	case t.Then != nil:
		s.of(*t.Then)
	case t.Start != nil:
		s.What = "begin"
	case len(t.Fire) > 0:
		s.What = "fire"
	case len(t.Runs) > 0:
		s.What, s.Count, s.runs = "run", len(t.Runs), first(t.Runs)
	}
	return s
}

func (s *Subject) of(e events.Event) {
	s.What = string(e.Kind)
	if e.Run != nil {
		s.runs, s.Count = []engine.Run{*e.Run}, 1
	}
	for _, r := range e.Results {
		if s.Count++; len(s.runs) < mostNamed {
			s.runs = append(s.runs, r.Run)
		}
	}
}

func first(runs []engine.Run) []engine.Run { return runs[:min(len(runs), mostNamed)] }

// Introduce adds to subjects the attempts that they are about, on any site, and the task names for the first mostOpened
// attempts.
func (c *Console) Introduce(ctx context.Context, list []Subject) error {
	known := map[int64]*host.Attempt{}
	about := map[int64][]*Subject{}
	var order []int64
	for i := range list {
		id := list[i].attempt
		if id == 0 {
			continue
		}
		if _, asked := known[id]; !asked {
			a, err := c.Catalogue.Attempt(ctx, host.AnySite, id)
			switch {
			case errors.Is(err, host.ErrNotFound):
				known[id] = nil
			case err != nil:
				return err
			default:
				known[id] = &a
			}
		}
		list[i].Attempt = known[id]
		if known[id] == nil || len(list[i].runs) == 0 {
			continue
		}
		if about[id] == nil {
			order = append(order, id)
		}
		about[id] = append(about[id], &list[i])
	}
	for _, id := range order[:min(len(order), mostOpened)] {
		err := c.Catalogue.View(ctx, *known[id], func(s *engine.State) { name(s, about[id]) })
		if err != nil && !errors.Is(err, host.ErrNotFound) { // ErrNotFound: its log has expired, or it no longer exists
			return err
		}
	}
	return nil
}

// name sets the task names of subjects from their attempt's state, which is nil if the attempt has no tasks.
func name(s *engine.State, list []*Subject) {
	for _, x := range list {
		for _, r := range x.runs {
			if s == nil || r.Task < 1 || int(r.Task) > len(s.Tasks()) {
				return
			}
			x.Tasks = append(x.Tasks, s.Task(r.Task).Name)
		}
	}
}
