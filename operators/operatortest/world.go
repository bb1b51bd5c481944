// Package operatortest checks the behavior of an operator that hosts rely on.
//
// The test of every operator calls Exercise, and creates its own tasks with New. A task's environment is real if
// possible: a folder, processes, HTTP. It must only be imported by tests.
package operatortest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/files"
	"zerodag/internal/httpclient"
	"zerodag/internal/process"
	"zerodag/internal/projectfiles"
	"zerodag/operators"
)

// Now is the time of every task.
var Now = time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)

// World is a task with its environment, all of which a test may change before it runs the task.
type World struct {
	operators.Task
	Output  *Log
	Vault   Vault
	Grants  *Attempts
	Told    *Notes
	Project projectfiles.Project
}

// New creates a task in an empty project. The parameters are JSON, and all belong to the task itself.
func New(t *testing.T, params string) *World {
	t.Helper()
	project, err := projectfiles.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := Map(t, params)
	w := &World{Output: &Log{}, Vault: Vault{}, Grants: &Attempts{}, Told: &Notes{}, Project: project}
	w.Task = operators.Task{
		Identity: operators.Identity{
			ProjectID: 3, ProjectName: "project", Workflow: "main", SessionID: 4, SessionUUID: "uuid",
			SessionTime: Now, Zone: "UTC", AttemptID: 5, TaskID: 6, TaskName: "+main+task", Dispatch: 1, Try: 1, StartedAt: Now,
		},
		Params: operators.NewParams(tree), Local: tree, State: param.New(), Now: Now,
		Log: w.Output, Files: project, Secrets: w.Vault, Commands: process.New(process.Options{}).In(project.Root()),
		Store:     files.NewParamStore(t.TempDir(), func() time.Time { return Now }),
		Workflows: w.Grants, Notifier: w.Told, HTTP: &httpclient.Clients{},
		Config: param.New(), TaskLimit: 1000,
		Template: func(text string) (string, error) { return text, nil },
	}
	return w
}

// File puts a file into the project.
func (w *World) File(t *testing.T, name, content string) {
	t.Helper()
	if err := w.Project.Write(name, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// Folder makes an empty folder in the project.
func (w *World) Folder(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(w.Project.Root(), name), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Map reads JSON text.
func Map(t testing.TB, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	m, isMap := v.(*param.Map)
	if err != nil || !isMap {
		t.Fatalf("%s is not a JSON object: %v", text, err)
	}
	return m
}

// Log keeps what a task logged.
type Log struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote func()
}

// OnWrite calls f whenever a command writes something.
func (l *Log) OnWrite(f func()) { l.wrote = f }

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrote != nil {
		l.wrote()
	}
	return l.text.Write(b)
}

// Line keeps a line as "[LEVEL] who: message".
func (l *Log) Line(level operators.Level, logger, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString("[" + string(level) + "] " + logger + ": " + message + "\n")
}

// Echo keeps a message.
func (l *Log) Echo(message string) { l.Write([]byte(message)) }

// String returns everything that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Vault holds secrets by key.
type Vault map[string]string

// Get implements operators.Secrets.
func (v Vault) Get(key string) (string, bool, error) {
	value, found := v[key]
	return value, found, nil
}

// GetUnmounted implements operators.Secrets.
func (v Vault) GetUnmounted(key string) (string, bool, error) { return v.Get(key) }

// Attempts answers requests to start workflows, one after the other, and records them.
type Attempts struct {
	Answers  []operators.StartedAttempt
	Err      error // instead of a response
	Requests []operators.StartRequest
}

// StartAttempt implements operators.Workflows.
func (a *Attempts) StartAttempt(ctx context.Context, r operators.StartRequest) (operators.StartedAttempt, error) {
	a.Requests = append(a.Requests, r)
	if a.Err != nil || ctx.Err() != nil || len(a.Answers) == 0 {
		return operators.StartedAttempt{New: true, SessionID: 1, AttemptID: 2}, a.Err
	}
	answer := a.Answers[0]
	a.Answers = a.Answers[1:]
	return answer, nil
}

// Notes records notifications.
type Notes struct {
	Messages []string
	Err      error
}

// Notify implements operators.Notifier.
func (n *Notes) Notify(_ context.Context, message string, _ *operators.Task) error {
	n.Messages = append(n.Messages, message)
	return n.Err
}

// NotifySlow implements operators.Notifier.
func (n *Notes) NotifySlow(ctx context.Context, message string, t *operators.Task) error {
	return n.Notify(ctx, message, t)
}
