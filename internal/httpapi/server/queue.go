package server

import (
	"zerodag/internal/console"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// How many messages are listed.
const (
	usualMessages = 50
	mostMessages  = 200
)

// getQueue counts the messages of all sites in the queues, and lists messages of one queue.
func getQueue(c *endpoint.Call) (any, error) {
	if c.Depths == nil {
		return nil, wire.Missing("queues: this server cannot report their contents")
	}
	n, err := c.Counting("count", usualMessages, mostMessages)
	if err != nil {
		return nil, err
	}
	after, err := c.Number("after", 0)
	if err != nil {
		return nil, err
	}
	r := wire.Queue{At: wire.Millis(c.Now()), Queue: "tasks"}
	if name, said := c.Arg("queue"); said {
		if r.Queue = name; name != "tasks" && name != "events" {
			return nil, wire.Invalid("queue= must be tasks or events, not %q", wire.Beginning(name))
		}
	}
	depths, err := c.Depths(c.Ctx())
	if err != nil {
		return nil, err
	}
	r.Queues = wire.Each(depths, func(d host.Depth) wire.Depth { return shownDepth(c, d) })
	for _, d := range depths {
		r.About = r.About || d.About
	}
	if c.Queued != nil {
		err = listMessages(c, &r, after, n)
	}
	return r, err
}

func shownDepth(c *endpoint.Call, d host.Depth) wire.Depth {
	r := wire.Depth{Name: d.Queue, Ready: d.Ready, Later: d.Later, Leased: d.Leased, Behind: d.Behind, Oldest: wire.Millis(d.Oldest)}
	if len(c.Dead) > 0 {
		r.Aside = &d.Aside
	}
	return r
}

func listMessages(c *endpoint.Call, r *wire.Queue, after int64, n int) error {
	list, err := c.Queued(c.Ctx(), r.Queue, after, n)
	if err != nil {
		return err
	}
	if len(list) == n {
		r.Next = new(wire.ID(list[n-1].Place))
	}
	subjects := make([]console.Subject, len(list))
	for i, m := range list {
		subjects[i] = console.SubjectOf(r.Queue, m.Message)
	}
	if err := c.Console.Introduce(c.Ctx(), subjects); err != nil {
		return err
	}
	r.Messages = make([]wire.Message, len(list))
	for i, m := range list {
		r.Messages[i] = wire.Message{Name: wire.Beginning(m.ID), State: wire.StateOf(m, c.Now()), Since: wire.Millis(m.Since), Due: wire.Millis(m.Due), Until: wire.Millis(m.Until),
			AgentID: wire.TextOrNull(m.Holder), Deliveries: m.Count, Size: m.Size, Subject: wire.SubjectOf(subjects[i])}
	}
	return nil
}
