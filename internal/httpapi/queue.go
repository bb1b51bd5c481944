package httpapi

import (
	"time"

	"zerodag/internal/console"
	"zerodag/internal/host"
)

type restDepth struct {
	Name   string `json:"name"`
	Ready  int    `json:"ready"`
	Later  int    `json:"later"`
	Leased int    `json:"leased"`
	Behind int    `json:"behind"`
	Aside  *int   `json:"aside"`  // null where nothing is put aside
	Oldest int64  `json:"oldest"` // milliseconds since 1970; 0: there is none, or it is not known
}

// restSubject is what a message is about.
type restSubject struct {
	What    string         `json:"what"` // "" is not known to this server
	Attempt *restSubjectOf `json:"attempt"`
	Tasks   []string       `json:"tasks"` // full names of the first ones
	Count   int            `json:"count"` // tasks that it is about
}

type restSubjectOf struct {
	ID       id     `json:"id"`
	Site     id     `json:"site"`
	Project  idName `json:"project"`
	Workflow string `json:"workflow"`
}

type restMessage struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	Since      int64  `json:"since"`
	Due        int64  `json:"due"`   // 0: at once
	Until      int64  `json:"until"` // end of the lease; 0: nobody has it
	Deliveries int    `json:"deliveries"`
	Size       int    `json:"size"`
	restSubject
}

type restQueue struct {
	At     int64       `json:"at"`
	About  bool        `json:"approximate"`
	Queues []restDepth `json:"queues"`
	Queue  string      `json:"queue"` // that the messages are of
	// Messages is null where they cannot be looked at without being received.
	Messages []restMessage `json:"messages"`
	Next     *id           `json:"next"`
}

// How many messages are listed.
const (
	usualMessages = 50
	mostMessages  = 200
)

// getQueue counts what the queues hold, of all sites, and lists messages of one.
func getQueue(c *call) (any, error) {
	if c.Depths == nil {
		return nil, missing("queues: this server does not know what they hold")
	}
	n, err := c.counting("count", usualMessages, mostMessages)
	if err != nil {
		return nil, err
	}
	after, err := c.number("after", 0)
	if err != nil {
		return nil, err
	}
	r := restQueue{At: millis(c.Now()), Queue: "tasks"}
	if name, said := c.arg("queue"); said {
		if r.Queue = name; name != "tasks" && name != "events" {
			return nil, invalid("queue= must be tasks or events, not %q", beginning(name))
		}
	}
	depths, err := c.Depths(c.ctx())
	if err != nil {
		return nil, err
	}
	r.Queues = each(depths, c.depth)
	for _, d := range depths {
		r.About = r.About || d.About
	}
	if c.Queued != nil {
		err = c.messages(&r, after, n)
	}
	return r, err
}

func (c *call) depth(d host.Depth) restDepth {
	r := restDepth{Name: d.Queue, Ready: d.Ready, Later: d.Later, Leased: d.Leased, Behind: d.Behind, Oldest: millis(d.Oldest)}
	if len(c.Dead) > 0 {
		r.Aside = &d.Aside
	}
	return r
}

func (c *call) messages(r *restQueue, after int64, n int) error {
	list, err := c.Queued(c.ctx(), r.Queue, after, n)
	if err != nil {
		return err
	}
	if len(list) == n {
		r.Next = new(id(list[n-1].Place))
	}
	subjects := make([]console.Subject, len(list))
	for i, m := range list {
		subjects[i] = console.SubjectOf(r.Queue, m.Message)
	}
	if err := c.console.Introduce(c.ctx(), subjects); err != nil {
		return err
	}
	r.Messages = make([]restMessage, len(list))
	for i, m := range list {
		r.Messages[i] = restMessage{Name: beginning(m.ID), State: stateOf(m, c.Now()), Since: millis(m.Since), Due: millis(m.Due), Until: millis(m.Until),
			Deliveries: m.Count, Size: m.Size, restSubject: subject(subjects[i])}
	}
	return nil
}

// stateOf says which number of its queue a message is part of.
func stateOf(m host.Queued, now time.Time) string {
	switch {
	case !m.Until.IsZero():
		return "leased"
	case m.Behind:
		return "behind"
	case m.Since.After(now):
		return "later"
	}
	return "ready"
}

func subject(s console.Subject) restSubject {
	r := restSubject{What: s.What, Tasks: each(s.Tasks, func(name string) string { return name }), Count: s.Count}
	if a := s.Attempt; a != nil {
		r.Attempt = &restSubjectOf{id(a.ID), id(a.Site), named(a.Project), a.Workflow.Name}
	}
	return r
}
