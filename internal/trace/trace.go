package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"zerodag/engine"
	"zerodag/internal/execution"
	"zerodag/internal/host"
)

// Span is one timed operation of a trace.
type Span struct {
	Trace      [16]byte
	ID, Parent [8]byte // Parent is zero for the span of the attempt
	Name       string
	Start, End time.Time
	Attributes []Attribute
	Failed     bool
	Message    string // why it failed, or ""
}

// Attribute is a property of a span. Value is a string, an int64 or a bool.
type Attribute struct {
	Key   string
	Value any
}

// ID returns the id of an attempt's trace. Its first four bytes are the time at which the attempt was created, as AWS
// X-Ray expects.
func ID(a host.Attempt) (id [16]byte) {
	sum := sha256.Sum256([]byte(a.SessionUUID + "/" + strconv.FormatInt(a.ID, 10)))
	copy(id[:], sum[:])
	binary.BigEndian.PutUint32(id[:4], uint32(a.CreatedAt.Unix())) // #nosec G115 -- the seconds of this century fit
	return id
}

// SpanID returns the id of a task's span; task 0 stands for the attempt.
func SpanID(trace [16]byte, task engine.TaskID) (id [8]byte) {
	sum := sha256.Sum256(strconv.AppendInt(trace[:], int64(task), 10))
	copy(id[:], sum[:])
	return id
}

// Of returns the spans of an attempt that has ended, with the attempt's span first. s is its final state, or nil if the
// attempt ended without one. Tasks that never ran, and tasks whose results were taken over from another attempt, have
// no span.
func Of(a host.Attempt, s *engine.State) []Span {
	id := ID(a)
	whole := Span{Trace: id, ID: SpanID(id, 0), Name: a.Project.Name + "/" + a.Workflow.Name, Start: a.CreatedAt, End: latest(a.FinishedAt, a.CreatedAt), Attributes: attributes(a), Failed: !a.Success}
	if s == nil {
		return []Span{whole}
	}
	if !a.Success {
		_, whole.Message = s.Failure()
	}
	spans := []Span{whole}
	tasks := s.Tasks()
	began := beginnings(tasks)
	for _, t := range tasks {
		start, ran := began[t.ID]
		if !ran {
			continue
		}
		x := Span{Trace: id, ID: SpanID(id, t.ID), Parent: parent(id, s, t, began), Name: t.Name, Start: start, End: latest(t.UpdatedAt, start), Failed: t.State.Error()}
		x.Attributes = []Attribute{{"zerodag.task.id", int64(t.ID)}, {"zerodag.task.state", t.State.String()}}
		if operator := execution.Operator(t); operator != "" {
			x.Attributes = append(x.Attributes, Attribute{"zerodag.task.operator", operator})
		}
		if t.RetryCount > 0 {
			x.Attributes = append(x.Attributes, Attribute{"zerodag.task.retries", int64(t.RetryCount)})
		}
		if t.Skipped != "" {
			x.Attributes = append(x.Attributes, Attribute{"zerodag.task.skipped", t.Skipped})
		}
		if t.Outcome != nil && t.Error.Len() > 0 {
			message, _ := t.Error.Get("message")
			x.Message, _ = message.(string)
		}
		spans = append(spans, x)
	}
	return spans
}

func attributes(a host.Attempt) []Attribute {
	list := []Attribute{
		{"zerodag.site", a.Site}, {"zerodag.project", a.Project.Name}, {"zerodag.workflow", a.Workflow.Name}, {"zerodag.attempt.id", a.ID},
		{"zerodag.session.id", a.SessionID}, {"zerodag.session.uuid", a.SessionUUID}, {"zerodag.session.time", a.SessionTime.UTC().Format(time.RFC3339)}, {"zerodag.attempt.status", a.Status()},
	}
	if a.RetryName != "" {
		list = append(list, Attribute{"zerodag.attempt.name", a.RetryName})
	}
	return list
}

// beginnings returns the time at which each task that ran began. A group begins with the first task below it.
func beginnings(tasks []*engine.Task) map[engine.TaskID]time.Time {
	began := map[engine.TaskID]time.Time{}
	for i := len(tasks) - 1; i >= 0; i-- { // tasks follow their parents
		t := tasks[i]
		at, below := began[t.ID]
		if own := t.StartedAt; !t.Resumed && !own.IsZero() && (!below || own.Before(at)) {
			at = own
		}
		if at.IsZero() {
			continue
		}
		began[t.ID] = at
		if other, there := began[t.Parent]; t.Parent != 0 && (!there || at.Before(other)) {
			began[t.Parent] = at
		}
	}
	return began
}

// parent returns the span that contains a task's span.
func parent(id [16]byte, s *engine.State, t *engine.Task, began map[engine.TaskID]time.Time) [8]byte {
	for above := t.Parent; above != 0; {
		if _, ran := began[above]; ran {
			return SpanID(id, above)
		}
		next := s.Task(above)
		if next == nil {
			break
		}
		above = next.Parent
	}
	return SpanID(id, 0)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
