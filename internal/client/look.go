package client

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Subject is what a message in a queue is about.
type Subject struct {
	What    string          `json:"what"`
	Attempt *SubjectAttempt `json:"attempt"` // nil: it is not about an attempt, or the attempt no longer exists
	Tasks   []string        `json:"tasks"`   // the full names of the first tasks
	Count   int             `json:"count"`   // the number of all tasks
}

// SubjectAttempt is the attempt that a message is about.
type SubjectAttempt struct {
	ID      ID `json:"id"`
	Site    ID `json:"site"`
	Project struct {
		ID   ID     `json:"id"`
		Name string `json:"name"`
	} `json:"project"`
	Workflow string `json:"workflow"`
}

// Servers lists the servers that share a database. All times come from the database's clock.
type Servers struct {
	At      time.Time `json:"at"`
	Servers []Server  `json:"servers"`
}

// Server is one of the servers that share a database.
type Server struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	Host         string     `json:"host"`
	ProcessID    int        `json:"processId"`
	Version      string     `json:"version"`
	State        string     `json:"state"` // running, stopping, silent or lost
	Roles        []string   `json:"roles"` // executor, scheduler, agent
	TaskTypes    []string   `json:"taskTypes"`
	RunningTasks int        `json:"runningTasks"`
	TaskSlots    *int       `json:"taskSlots"`  // nil: no limit
	ClockAhead   float64    `json:"clockAhead"` // seconds
	Exposed      *string    `json:"exposed"`    // why commands can read its data; nil: they cannot, or are allowed to
	StartedAt    time.Time  `json:"startedAt"`
	SeenAt       time.Time  `json:"seenAt"`
	LostAt       *time.Time `json:"lostAt"`
}

// Servers lists the servers that share the responding server's database.
func (c *Client) Servers(ctx context.Context) (s Servers, err error) {
	err = c.get(ctx, "/api/x/admin/servers", nil, &s)
	return s, err
}

// Queues holds the sizes of a server's queues, and messages from one queue. Times are milliseconds since 1970, 0 for
// none.
type Queues struct {
	At          int64    `json:"at"`
	Approximate bool     `json:"approximate"`
	Queues      []Depth  `json:"queues"`
	Queue       string   `json:"queue"`    // the queue of the messages
	Messages    []Queued `json:"messages"` // nil if they cannot be read
	Next        *ID      `json:"next"`
}

// Depth describes one queue's size.
type Depth struct {
	Name   string `json:"name"`
	Ready  int    `json:"ready"`
	Later  int    `json:"later"`
	Leased int    `json:"leased"`
	Behind int    `json:"behind"`
	Aside  *int   `json:"aside"`
	Oldest int64  `json:"oldest"`
}

// Queued is a message in a queue.
type Queued struct {
	Name       string  `json:"name"`
	State      string  `json:"state"`
	Since      int64   `json:"since"`
	Due        int64   `json:"due"`
	Until      int64   `json:"until"`
	AgentID    *string `json:"agentId"` // the server that holds the lease; nil if it is not leased
	Deliveries int     `json:"deliveries"`
	Size       int     `json:"size"` // bytes
	Subject
}

// Queues lists a server's queues. queue is "tasks" or "events": up to count of its messages after the given position
// are listed; "" lists the first messages of tasks.
func (c *Client) Queues(ctx context.Context, queue string, after ID, count int) (q Queues, err error) {
	err = c.get(ctx, "/api/x/admin/queue", query("queue", queue, "after", string(after), "count", strconv.Itoa(count)), &q)
	return q, err
}

// Limit is one of a server's limits.
type Limit struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Setting *string `json:"setting"` // the setting that changes it; nil: no setting does
	Unit    string  `json:"unit"`
	Value   *int64  `json:"value"` // nil: there is no limit
	Use     *int64  `json:"use"`   // nil: unknown
}

// Limits lists a server's limits.
func (c *Client) Limits(ctx context.Context) ([]Limit, error) {
	var answer struct{ Limits []Limit }
	err := c.get(ctx, "/api/x/admin/limits", nil, &answer)
	return answer.Limits, err
}

// Site is one of the sites that share a server.
type Site struct {
	ID       ID   `json:"id"`
	Projects int  `json:"projects"`
	Attempts int  `json:"attempts"` // unfinished attempts, counted up to 1,000
	Tokens   *int `json:"tokens"`
}

// Sites lists all sites that have or had projects.
func (c *Client) Sites(ctx context.Context) (all []Site, err error) {
	for after := ID(""); ; {
		var page struct {
			Sites []Site
			Next  *ID
		}
		if err := c.get(ctx, "/api/x/admin/sites", query("after", string(after)), &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Sites...); page.Next == nil {
			return all, nil
		}
		after = *page.Next
	}
}

// DeadLetter is a message that could not be handled and was set aside.
type DeadLetter struct {
	ID         string  `json:"id"`
	Queue      string  `json:"queue"`
	Name       string  `json:"name"`
	Sent       int64   `json:"sent"` // milliseconds since 1970
	Deliveries int     `json:"deliveries"`
	Returned   int     `json:"returned"`
	Size       int     `json:"size"` // bytes
	Broken     *string `json:"broken"`
	Subject
	Body json.RawMessage `json:"body,omitempty"` // set only when a single letter is requested; without values from tasks
}

// DeadLetters lists up to count dead letters of each queue, the oldest first. all means that the list is complete.
func (c *Client) DeadLetters(ctx context.Context, count int) (list []DeadLetter, all bool, err error) {
	var answer struct {
		Letters []DeadLetter
		All     bool
	}
	err = c.get(ctx, "/api/x/admin/dead-letters", query("count", strconv.Itoa(count)), &answer)
	return answer.Letters, answer.All, err
}

// DeadLetter shows one dead letter.
func (c *Client) DeadLetter(ctx context.Context, id string) (l DeadLetter, err error) {
	err = c.get(ctx, path("api", "x", "admin", "dead-letters", id), nil, &l)
	return l, err
}
