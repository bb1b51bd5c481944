package console

import (
	"encoding/json"
	"strings"
	"testing"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/events"
)

// TestShownBody proves that the shown body of a message identifies its tasks and attempts, and contains no values that
// tasks received, stored or printed.
func TestShownBody(t *testing.T) {
	t.Parallel()
	secret := param.New("password", "s3cret-value")
	event := events.Encode(events.Event{Kind: events.Results, Results: []events.Result{
		{Kind: events.Succeeded, Run: engine.Run{Task: 7, Dispatch: 2}, Outcome: engine.Outcome{Stores: secret}},
		{Kind: events.Later, Run: engine.Run{Task: 8, Dispatch: 1}, State: secret}},
		Logs: []events.Log{{Name: "+a@1.log.gz", Content: []byte("s3cret-value")}}})
	task := events.EncodeTask(events.Task{Start: &events.Starting{StartDetail: events.StartDetail{ID: "e-1", Project: "sales", Workflow: "daily", Params: json.RawMessage(`{"key":"s3cret-value"}`)}}})
	for name, c := range map[string]struct {
		body []byte
		want []string
	}{
		"results of runs":        {event, []string{`"task":7`, `"d":2`, `"event":"later"`, `"outcome":"(`, `"state":"(`, `"name":"+a@1.log.gz"`, "not shown"}},
		"what an event asks for": {task, []string{`"project":"sales"`, `"id":"e-1"`, `"params":"(`}},
	} {
		got := string(ShownBody(c.body))
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %s in %s", name, part, got)
			}
		}
		if strings.Contains(got, "s3cret") || strings.Contains(got, "czNjcmV0") {
			t.Errorf("%s: it shows a secret: %s", name, got)
		}
	}
	for _, body := range []string{"", "x", "[1]", `"s3cret"`} {
		if got := ShownBody([]byte(body)); got != nil {
			t.Errorf("%q, which is no message, is shown as %s", body, got)
		}
	}
}

// TestShownBodyIsShort proves that a message of a megabyte is shown in a few kilobytes.
func TestShownBodyIsShort(t *testing.T) {
	t.Parallel()
	e := events.Event{Kind: events.Results, Guard: strings.Repeat("g", 1<<20)}
	for i := range 10_000 {
		e.Results = append(e.Results, events.Result{Kind: events.Failed, Run: engine.Run{Task: engine.TaskID(i + 1)}})
	}
	got := ShownBody(events.Encode(e))
	if len(got) > 16<<10 || !json.Valid(got) || !strings.Contains(string(got), "(9950 more)") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

// FuzzShownBody proves that the shown body is always JSON and short, whatever the message contains.
func FuzzShownBody(f *testing.F) {
	f.Add([]byte(`{"v":1,"runs":[{"task":1,"d":1}]}`))
	f.Add([]byte(`{"v":{"v":{"v":[[["x"]]]}},"x":"` + strings.Repeat("y", 300) + `"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := ShownBody(body); got != nil && (!json.Valid(got) || len(got) > mostShown) {
			t.Errorf("%q is shown as %q", body, got)
		}
	})
}
