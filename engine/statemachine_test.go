package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine"
	"zerodag/engine/enginetest"
)

// TestStateMachine keeps docs/state-machine.md as it follows from the scenarios.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	var trace enginetest.Trace
	files := scenarioFiles(t)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, seen, err := enginetest.Run(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		trace.Add(seen)
	}
	got := document(&trace)
	name := filepath.Join("..", "docs", "state-machine.md")
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is out of date; `go test ./engine -run TestStateMachine -rewrite` writes it\n%s", name, diff)
	}
}

func document(trace *enginetest.Trace) string {
	var b strings.Builder
	b.WriteString(`# The state machine of an attempt

Written by ` + "`go test ./engine -run TestStateMachine -rewrite`" + ` from what happens in the scenarios of
` + "`engine/testdata`" + `; the test fails when it is out of date. The rules are Digdag's.

## States of a task

| number | state | meaning | final |
|---|---|---|---|
`)
	for s := engine.Blocked; s <= engine.Canceled; s++ {
		final := ""
		if s.Done() {
			final = "yes"
		}
		fmt.Fprintf(&b, "| %d | %v | %s | %s |\n", s, s, meanings()[s], final)
	}
	b.WriteString("\n## Transitions\n\nEach arrow names the events that were seen to cause it. An arrow to itself is a new run of the same task, a timer\n" +
		"that was taken over, or a final state that waits for `^error` and `^failure-alert`. A task that a resumed\n" +
		"attempt takes over is made as a success.\n\n```mermaid\n")
	b.WriteString(trace.Diagram())
	b.WriteString("```\n\n## Events\n\nAn event that is refused changes nothing. Any event may arrive twice or late.\n\n| event | says | refused when |\n|---|---|---|\n")
	for _, e := range events() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e[0], e[1], strings.Join(trace.Refusals(e[0]), "; "))
	}
	return b.String()
}

func meanings() map[engine.TaskState]string {
	return map[engine.TaskState]string{
		engine.Blocked:           "waits for its parent to be planned and for its upstreams to be success",
		engine.Ready:             "may run; passed through within one step, so never seen",
		engine.RetryWaiting:      "asked to run again later: a retry or a poll",
		engine.GroupRetryWaiting: "its children failed, it tries again when its interval is over",
		engine.Running:           "sent to be run",
		engine.Planned:           "its own work is done, it waits for its children",
		engine.GroupError:        "a child failed",
		engine.Success:           "it and its children succeeded",
		engine.Failed:            "its operator failed",
		engine.Canceled:          "a kill ended it",
	}
}

func events() [][2]string {
	return [][2]string{
		{"Start", "the attempt begins"},
		{"Succeeded", "a run succeeded, perhaps with subtasks, exports and stores"},
		{"Errored", "a run failed for good"},
		{"Later", "a run wants to be called again: a poll or a retry"},
		{"Due", "the time of a waiting task has come"},
		{"Lost", "the holder of the run or of the timer is gone"},
		{"Fenced", "nobody knows whether the run goes on: another message answers for it"},
		{"Kill", "the attempt must end"},
		{"Pause", "nothing new is to begin"},
		{"Unpause", "what was held by a pause begins"},
		{"GoOn", "the next portion of generated tasks is to be made"},
		{"StartDue", "the time has come at which the attempt is to begin"},
		{"SLADue", "the time of `sla:` has come"},
	}
}
