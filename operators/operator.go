// Package operators is the contract for authors of operators (`sh>`, `echo>` ...): what an operator is, what its run
// gets to see and gives back, and what many of them need to read parameters, run commands and fill in secrets.
//
// Operators live in one folder each beside this file and are listed in operators/all; operators/run runs them. This
// package knows no driver, no SDK and no store: what operators need of the world they ask of the interfaces in
// capability.go.
package operators

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"zerodag/engine"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Operator is one word of the language: `name>: command`. It has no state of its own:
// what must survive between two runs of a task is returned as state params.
type Operator struct {
	Name    string // "sh" for `sh>`
	Summary string // one line for `zerodag operators`

	// Inline marks an operator without I/O that may be run again at will. The host runs
	// it itself, between two steps of the engine.
	Inline bool

	// Retries says that `_retry` of the task also repeats the operator's own failures
	// (language.md 1.9); errors of evaluation are never repeated.
	Retries bool

	// Commands says that it runs a command, so that a machine for it may be prepared.
	Commands bool

	// Run does the work of one run. A Later error asks for another run, a Failure or a
	// ConfigError fails the task, any other error fails it as "(runtime)".
	Run func(ctx context.Context, t *Task) (Result, error)

	// Clean ends what earlier runs of the task left running elsewhere; it is called
	// instead of Run when the attempt was killed. May be nil. Must be repeatable.
	Clean func(ctx context.Context, t *Task) error

	// Find is of the operator AnyOther alone, in place of Run: it returns the operator that
	// the task's project brings itself under a name, and false where it brings none.
	Find func(t *Task, name string) (Operator, bool, error)
}

// AnyOther is the name of the entry of a Registry that finds what is in no registry. A
// name of the language it is not: no task gets to it by writing it.
const AnyOther = "*"

// Registry finds operators by name.
type Registry map[string]Operator

// NewRegistry makes a registry of a literal list; it panics on a name listed twice.
func NewRegistry(list ...Operator) Registry {
	r := make(Registry, len(list))
	for _, o := range list {
		if _, twice := r[o.Name]; twice {
			panic("operators: two operators are named " + o.Name)
		}
		r[o.Name] = o
	}
	return r
}

// Names lists the operators that are known before any project is looked at.
func (r Registry) Names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if name != AnyOther {
			names = append(names, name)
		}
	}
	return names
}

// Task is everything that one run of one task can see.
type Task struct {
	Identity
	Params *Params    // the merged, evaluated parameters; remembers which keys were read
	Local  *param.Map // the task's own keys, evaluated, without _export, _error, _check
	State  *param.Map // state params of the run before; never nil
	Now    time.Time  // the time of this run; operators never ask the clock
	Steady time.Time  // Now by a clock that shows the right time when the process starts and is never set; zero where there is none
	Level  int        // of the language that it is written in, see keys.Language

	Log       Log
	Files     Files
	Secrets   Secrets
	Commands  Commands
	Store     ParamStore // nil where no parameter server is configured
	Workflows Workflows
	Notifier  Notifier
	HTTP      HTTPClient
	Network   Network // nil: that of the machine

	// Config is the host's own configuration below "config." (mail, http ...), as a tree.
	Config *param.Map
	// TaskLimit is how many tasks an attempt may have; loops check it before they generate.
	TaskLimit int
	// Template evaluates `${...}` in text, a file's content say, with Params as variables.
	Template func(text string) (string, error)

	// Variables are "NAME=value" for commands, below all others: `zerodag run --env-file`. References to secrets
	// in their values are replaced.
	Variables []string
	// VariableFiles have further ones; the later files win.
	VariableFiles []keys.EnvFile
	// References know which `${secret:key}` the project wrote, for SecretText and CheckNames. nil: nothing is data,
	// every one was written.
	References References
}

// Identity says which run of which task this is.
type Identity struct {
	SiteID      int64
	ProjectID   int64
	ProjectName string
	Revision    string
	Workflow    string
	SessionID   int64
	SessionUUID string
	SessionTime time.Time // in the workflow's zone
	Zone        string    // as the workflow wrote it, "Asia/Tokyo"
	AttemptID   int64
	// RetryAttemptName is empty for a session's first attempt.
	RetryAttemptName string
	TaskID           int64  // ordinal within the attempt, 1 = root
	TaskName         string // full name, "+wf+group+task"
	Dispatch         int    // which run of the task this is, from 1; never repeats
	// Try is the same as people count: that its keys are evaluated, and that it asks for slots, are no runs of it. 1 is never
	// said twice.
	Try int
	// RetryCount is how often the task was asked to run again (polls and retries).
	RetryCount int
	StartedAt  time.Time // of the task's first run
}

// IdempotencyKey is the same for every run of a task in an attempt: commands pass it to
// services that can drop a repeated request.
func (i Identity) IdempotencyKey() string {
	return fmt.Sprintf("%d-%d-%d", i.SiteID, i.AttemptID, i.TaskID)
}

// Result is what a successful run gives back.
type Result struct {
	Subtasks   *param.Map // config of a task or group to run below this one; nil for none
	Export     *param.Map // visible to the generated tasks
	Store      *param.Map // visible to everything that follows
	ResetStore [][]string // paths removed before Store is merged
	Secret     bool       // the run was given secrets, which may be in what it returns; the host sets it
}

// Later is returned as an error by a Run that wants to be called again.
type Later struct {
	After time.Duration // from now; rounded up to whole seconds, 0 is at once
	State *param.Map    // state params of the next run
	Err   error         // why, when it is a failure that is retried; else nil
	Retry bool          // the next run is another try of the task, and not another look at this one
	Until time.Time     // when the try must be over; the host sets it, and what follows

	SlowAt time.Time // when people are told that the try is slow
	Warned bool      // they were
}

func (l *Later) Error() string {
	if l.Err != nil {
		return fmt.Sprintf("to be run again after %v: %v", l.After, l.Err)
	}
	return fmt.Sprintf("to be run again after %v", l.After)
}

func (l *Later) Unwrap() error { return l.Err }

// Failure is a plain failure of the task, meant by the operator: its message is shown
// without a kind, and without a stack trace unless something caused it (`fail>`, `http>`, `require>`).
type Failure struct {
	Message    string
	Properties *param.Map // further keys of the error object; may be nil
	Cause      error      // what went wrong below the operator; nil where the message is all there is
	Trace      string     // where a program of the user failed, in its language; "" for none
}

func (f *Failure) Error() string { return f.Message }

func (f *Failure) Unwrap() error { return f.Cause }

// Object is the failure as `_error` tasks see it: with a stack trace when something caused it, or a program of the user has one.
func (f *Failure) Object() *param.Map {
	o := param.New("message", f.Message)
	switch {
	case f.Trace != "":
		o.Set(engine.StackKey, f.Trace)
	case f.Cause != nil:
		o.Set(engine.StackKey, engine.Stack(f.Cause))
	}
	return param.Merge(o, f.Properties)
}

// Failf makes a Failure.
func Failf(format string, args ...any) error {
	return &Failure{Message: fmt.Sprintf(format, args...)}
}

// Causedf makes a Failure that an error caused, in the operator's own words (`pg>`, `mail>`).
func Causedf(cause error, format string, args ...any) error {
	return &Failure{Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Fault is an unexpected failure: "message (kind)" with a stack trace key. Kind is the
// original's exception in words, like "illegal argument"; empty means "runtime".
type Fault struct {
	Message string
	Kind    string
}

func (f *Fault) Error() string { return f.Message }

// ErrorKind is the word that users see behind the message.
func (f *Fault) ErrorKind() string { return cmp.Or(f.Kind, "runtime") }

// Faultf makes a Fault of a kind.
func Faultf(kind, format string, args ...any) error {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
