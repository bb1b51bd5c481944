package console

import (
	"fmt"
	"testing"

	"zerodag/engine"
	"zerodag/events"
	"zerodag/internal/host"
)

// TestSubjectOf proves that each kind of message yields its purpose, attempt and number of tasks, and that a message
// from a later release or another program has no subject.
func TestSubjectOf(t *testing.T) {
	t.Parallel()
	runs := []engine.Run{{Task: 4, Dispatch: 1}, {Task: 5, Dispatch: 1}, {Task: 6, Dispatch: 1}, {Task: 7, Dispatch: 1}}
	var results []events.Result
	for _, r := range runs {
		results = append(results, events.Result{Kind: events.Succeeded, Run: r})
	}
	task := func(id string, body events.Task) host.Message {
		return host.Message{ID: id, Body: events.EncodeTask(body)}
	}
	for name, c := range map[string]struct {
		queue   string
		message host.Message
		want    string // what, attempt, tasks that can be named, tasks
	}{
		"a start":              {"events", host.EventMessage(33, "start", events.Event{Kind: events.Start}), "start 33 0 0"},
		"a wake":               {"events", host.WakeMessage(33, runs[0]), "due 33 1 1"},
		"results of many":      {"events", host.EventMessage(33, "done", events.Event{Kind: events.Results, Results: results}), "results 33 3 4"},
		"runs of many":         {"tasks", task("33/4.1+3", events.Task{Runs: runs}), "run 33 3 4"},
		"an event of later":    {"tasks", task("33/kill", events.Task{Then: &events.Event{Kind: events.SLADue}}), "sla_due 33 0 0"},
		"schedules":            {"tasks", host.FiringsMessage([]events.Firing{{Schedule: 1, Run: 2}}), "fire 0 0 0"},
		"what an event asked":  {"tasks", host.StartingMessage(events.Starting{StartDetail: events.StartDetail{ID: "e"}}, host.Message{}.Due), "begin 0 0 0"},
		"a form of tomorrow":   {"tasks", host.Message{ID: "33/4.1", Body: []byte(`{"v":99,"runs":[{"task":4,"d":1}]}`)}, " 33 0 0"},
		"an event of tomorrow": {"events", host.Message{ID: "33/x", Body: []byte(`{"v":1,"event":"dance"}`)}, " 33 0 0"},
		"of a stranger":        {"tasks", host.Message{ID: "hello", Body: []byte("hello")}, " 0 0 0"},
		"too large to look at": {"events", host.Message{ID: "33/done"}, " 33 0 0"},
	} {
		s := SubjectOf(c.queue, c.message)
		if got := fmt.Sprint(s.What, " ", s.attempt, " ", len(s.runs), " ", s.Count); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
