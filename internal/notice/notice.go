// Package notice notifies users that an attempt failed or takes too long: by HTTP, by mail, or through a command
// (server.md#settings).
//
// A server stores its notices until they are delivered (Outbox): routes select the channels for each notice, and
// similar notices may be summarized. Functions on AWS send notices immediately (Notices). The package retries failed
// deliveries and must never change what an attempt does.
package notice

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// Sender tries once to deliver a notice. fields are the fields of the JSON body. It returns the receiver's response, or
// an error, which may be a Refusal. Because users can read the error, it must not contain any of the channel's secrets.
type Sender interface {
	Send(ctx context.Context, fields *param.Map) (answer string, err error)
}

// Refusal is the error for a response in which the receiver refuses a notice.
type Refusal struct {
	Err       error
	Permanent bool          // repeating the request will not help until a user changes something
	After     time.Duration // the receiver accepts notices again after this time; 0: unknown
}

func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

// Options limits the retries of a delivery. A zero value means the default given in the comment.
type Options struct {
	Retries  int           // after the first attempt
	Shortest time.Duration // wait before the first retry: 1 s; each later one is twice as long
	Longest  time.Duration // 30 s
	Now      func() time.Time
	Program  string // the name of the command in messages: "zerodag"
	Console  string // the address of the console, for links in notices; "": notices contain no link
}

// Notices is a host.Notices.
type Notices struct {
	sender Sender
	o      Options
}

// New returns a Notices that delivers through s.
func New(s Sender, o Options) *Notices { return &Notices{s, o.withDefaults()} }

func (o Options) withDefaults() Options {
	o.Shortest = cmp.Or(o.Shortest, time.Second)
	o.Longest = cmp.Or(o.Longest, 30*time.Second)
	return o
}

// fields returns the body of a notice about an event that happens now.
func (o Options) fields(notice host.Notice) *param.Map {
	fields := Fields(notice, o.Now())
	if notice.Failure != nil && o.Program != "" {
		fields.Set("resume", resume(o.Program, notice.Attempt.ID))
	}
	if o.Console != "" && notice.Attempt.ID != 0 {
		fields.Set("url", fmt.Sprintf("%s/attempts/%d", o.Console, notice.Attempt.ID))
	}
	return fields
}

// Notify implements host.Notices: it tries until the notice is delivered, the retries are used up or ctx ends.
func (n *Notices) Notify(ctx context.Context, notice host.Notice) error {
	fields := n.o.fields(notice)
	wait := n.o.Shortest
	for try := 0; ; try++ {
		_, err := n.sender.Send(ctx, fields)
		if err == nil || try >= n.o.Retries {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w (last attempt: %v)", ctx.Err(), err) //nolint:errorlint // the end of the context is the cause; the last try is only reported
		}
		wait = min(2*wait, n.o.Longest)
	}
}

// Fields returns the body of a notice, with Digdag's names; unknown values are null. The fields that zerodag adds come
// last: the kind and, for a failed attempt, the failed task, its error, its last output, and the command that resumes
// the attempt.
func Fields(n host.Notice, now time.Time) *param.Map {
	a := &n.Attempt
	known := func(id int64) param.Value {
		if id == 0 {
			return nil
		}
		return id
	}
	text := func(s string) param.Value {
		if s == "" {
			return nil
		}
		return s
	}
	var session param.Value
	if !a.SessionTime.IsZero() {
		zone, err := schedule.Zone(a.Zone)
		if err != nil {
			zone = time.UTC
		}
		session = a.SessionTime.In(zone).Format("2006-01-02T15:04:05-07:00")
	}
	m := param.New(
		"timestamp", now.UTC().Format("2006-01-02T15:04:05.000Z"), "message", n.Message,
		"site_id", a.Site, "project_id", known(a.Project.ID), "project_name", text(a.Project.Name),
		"workflow_name", text(a.Workflow.Name), "revision", text(n.Revision), "attempt_id", known(a.ID),
		"session_id", known(a.SessionID), "task_name", text(n.Task), "timezone", text(a.Zone),
		"session_uuid", text(a.SessionUUID), "session_time", session, "workflow_definition_id", known(a.Workflow.ID))
	if n.Kind != "" {
		m.Set("kind", string(n.Kind))
	}
	if f := n.Failure; f != nil {
		m.Set("failed_task", f.Task)
		m.Set("error", engine.Shortened(f.Message))
		if len(f.Tasks) > 1 {
			m.Set("failed_tasks", f.Tasks)
		}
		m.Set("last_lines", strings.Join(f.Lines, "\n"))
		m.Set("resume", resume("zerodag", a.ID))
	}
	return m
}

// resume returns the command that resumes an attempt.
func resume(program string, attempt int64) string {
	return fmt.Sprintf("%s retry %d --latest-revision --resume", program, attempt)
}
