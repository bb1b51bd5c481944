package executorstest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/run"
	"zerodag/operators/sh"
)

// Executor is a way to run commands, as seen by a whole task.
type Executor struct {
	Commands func(id operators.Identity) operators.Commands // the commands of one run of a task
	// Await returns when the next run, which id identifies, is due; nil means that it is due at once.
	Await func(id operators.Identity, after time.Duration)
	// Output returns the output of the task's commands that is not in its log; nil means that there is none.
	Output func(id operators.Identity) string
}

// tried is a script of several lines that fails: with `_retry: 1` it runs twice.
const tried = "echo one\necho two\n\nexit 3"

// SaysOnce proves that a task's log contains its script once for each execution and each line of its output once and in
// order, no matter how many runs of the task are needed to wait for the end. It also proves that a run that only polls
// the command prints nothing.
func SaysOnce(t *testing.T, e Executor) {
	t.Helper()
	log := &taskLog{}
	id := operators.Identity{ProjectID: 7, AttemptID: 1, TaskID: 2, Workflow: "w", TaskName: "+w+t2", Dispatch: 1}
	own, err := param.ParseJSON(fmt.Sprintf(`{"sh>": %q, "_retry": 1}`, tried))
	if err != nil {
		t.Fatal(err)
	}
	state := param.New()
	for {
		j := &run.Job{Task: operators.Task{Identity: id, State: state, Log: log, Commands: e.Commands(id), Now: time.Now()},
			Own: own.(*param.Map), Vars: param.New()}
		out := run.Run(t.Context(), operators.Registry{"sh": sh.Operator()}, asWritten{}, j)
		if out.Later == nil {
			break
		}
		if id.Dispatch > 100 {
			t.Fatal("the task did not end")
		}
		state = out.Later.State
		id.Dispatch++
		id.RetryCount++
		if e.Await != nil {
			e.Await(id, out.Later.After)
		}
	}
	const failed = "Command failed with code 3"
	want := []string{"INFO sh>: " + tried, "ERROR Task failed, retrying: " + failed, "DEBUG sh>: " + tried, "ERROR Task failed with unexpected error: " + failed}
	if diff := cmp.Diff(want, log.lines); diff != "" {
		t.Errorf("log lines of the task (-want +got):\n%s", diff)
	}
	written := log.text.String()
	if e.Output != nil {
		written += e.Output(id)
	}
	if diff := cmp.Diff(strings.Repeat("one\ntwo\n", 2), written); diff != "" {
		t.Errorf("output of the commands (-want +got):\n%s", diff)
	}
}

// asWritten is an evaluator for tasks without `${...}`.
type asWritten struct{}

func (asWritten) Eval(_ context.Context, all, _ *param.Map, _ expr.Scope) (*param.Map, error) {
	return all, nil
}

func (asWritten) Template(_ context.Context, text string, _ *param.Map, _ expr.Scope) (string, error) {
	return text, nil
}

// taskLog separates messages about a task from its commands' output.
type taskLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines []string
}

func (l *taskLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *taskLog) Echo(string) {}

func (l *taskLog) Line(level operators.Level, _, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.ToUpper(string(level))+" "+message)
}
