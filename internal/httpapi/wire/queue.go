package wire

import (
	"time"

	"zerodag/internal/console"
	"zerodag/internal/host"
)

// Depth is the number of messages in a queue.
type Depth struct {
	Name   string `json:"name"`
	Ready  int    `json:"ready"`
	Later  int    `json:"later"`
	Leased int    `json:"leased"`
	Behind int    `json:"behind"`
	Aside  *int   `json:"aside"`  // null if the queue has no dead letters
	Oldest int64  `json:"oldest"` // milliseconds since 1970; 0: there is none, or it is unknown
}

// Subject is what a message is about.
type Subject struct {
	What    string      `json:"what"` // "" means that this server does not know it
	Attempt *SubjectRef `json:"attempt"`
	Tasks   []string    `json:"tasks"` // full names of the first tasks
	Count   int         `json:"count"` // number of tasks that it is about
}

// SubjectRef is a project, workflow or attempt that a message is about.
type SubjectRef struct {
	ID       ID     `json:"id"`
	Site     ID     `json:"site"`
	Project  IDName `json:"project"`
	Workflow string `json:"workflow"`
}

// Message is a message in a queue.
type Message struct {
	Name       string  `json:"name"`
	State      string  `json:"state"`
	Since      int64   `json:"since"`
	Due        int64   `json:"due"`     // 0: at once
	Until      int64   `json:"until"`   // end of the lease; 0: not leased
	AgentID    *string `json:"agentId"` // the server that holds the lease; null if it is not leased
	Deliveries int     `json:"deliveries"`
	Size       int     `json:"size"`
	Subject
}

// Queue is a queue with its messages.
type Queue struct {
	At     int64   `json:"at"`
	About  bool    `json:"approximate"`
	Queues []Depth `json:"queues"`
	Queue  string  `json:"queue"` // the queue of the messages
	// Messages is null if they cannot be read without being received.
	Messages []Message `json:"messages"`
	Next     *ID       `json:"next"`
}

// StateOf returns which of its queue's counts includes a message.
func StateOf(m host.Queued, now time.Time) string {
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

// SubjectOf shows what a message is about.
func SubjectOf(s console.Subject) Subject {
	r := Subject{What: s.What, Tasks: Each(s.Tasks, func(name string) string { return name }), Count: s.Count}
	if a := s.Attempt; a != nil {
		r.Attempt = &SubjectRef{ID(a.ID), ID(a.Site), Named(a.Project), a.Workflow.Name}
	}
	return r
}
