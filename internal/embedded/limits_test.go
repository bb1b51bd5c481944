package embedded_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/embedded"
	"zerodag/internal/executors"
	"zerodag/internal/host"
)

const greedy = `
+all:
  if>: ${greedy}
  _do:
    _parallel: true
    +output:
      sh>: head -c 10G /dev/zero
    +bomb:
      sh>: 'b() { while :; do b & done; }; b'
      sandbox: {processes: 100}
  _else_do:
    +plain:
      sh>: 'true'
`

// TestGreedyCommands proves that a command that writes or forks endlessly makes its task fail with a clear error, and
// that the server keeps running. It must not run in parallel because it uses the whole machine for a moment.
func TestGreedyCommands(t *testing.T) {
	workflow, o := greedy, embedded.Options{}
	want := map[string]string{"+output": "The command wrote more than 1 GiB to its log and was killed", "+bomb": "The command had more than 100 processes and was killed"}
	if os.Getuid() == 0 {
		o.Commands = executors.Settings{User: "nobody"}
	} else {
		t.Log("NOT RUN: the process bomb needs root and a user without privileges")
		workflow = strings.Replace(workflow, "'b() { while :; do b & done; }; b'", "echo skipped", 1)
		delete(want, "+bomb")
	}
	e, w := running(t, o, workflow)
	began := time.Now()
	got := messages(t, e, w, true)
	t.Logf("ended after %v", time.Since(began))
	for name, text := range want {
		found := false
		for task, message := range got {
			found = found || strings.HasSuffix(task, name) && strings.Contains(message, text)
		}
		if !found {
			t.Errorf("%s: want %q, got %v", name, text, got)
		}
	}
	if after := messages(t, e, w, false); len(after) > 0 {
		t.Errorf("the next attempt: %v", after)
	}
}

// messages runs the workflow and returns the errors of its tasks.
func messages(t *testing.T, e *embedded.Engine, w host.Workflow, greedy bool) map[string]string {
	t.Helper()
	params := param.New()
	params.Set("greedy", greedy)
	a, err := e.Start(t.Context(), catalogue.StartRequest{Workflow: w.ID, SessionTime: time.Now().Truncate(time.Second), RetryName: time.Now().String(), Params: params})
	if err != nil {
		t.Fatal(err)
	}
	for range e.Watch(t.Context(), a) {
	}
	found := map[string]string{}
	err = e.View(t.Context(), a, func(s *engine.State) {
		for _, task := range s.Tasks() {
			if task.State == engine.Failed && task.Outcome != nil {
				m, _ := task.Error.Get("message")
				found[task.Name], _ = m.(string)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
