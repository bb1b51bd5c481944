// Package operators is the contract for authors of operators (`sh>`, `echo>` ...): what an operator is, the input and
// output of its run, and helpers that many operators need to read parameters, run commands and fill in secrets.
//
// Each operator has a folder next to this file and is listed in operators/all; operators/run runs them. This package
// depends on no driver, no SDK and no store: operators access the outside world through the interfaces in
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

// Operator is one operator of the language: `name>: command`. It has no state: data that must survive between two runs
// of a task is returned as state params.
type Operator struct {
	Name    string // "sh" for `sh>`
	Summary string // one line for `zerodag operators`

	// Inline marks an operator without I/O that may be run again at will. The host runs
	// it itself, between two steps of the engine.
	Inline bool

	// Retries means that the task's `_retry` also retries the operator's own failures (language.md 1.9); evaluation
	// errors are never retried.
	Retries bool

	// Commands means that it runs a command, so that a machine for it may be prepared.
	Commands bool

	// Run does the work of one run. A Later error requests another run, a Failure or a ConfigError fails the task, and any
	// other error fails it as "(runtime)".
	Run func(ctx context.Context, t *Task) (Result, error)

	// Clean ends what earlier runs of the task left running elsewhere; it is called instead of Run if the attempt was
	// killed. It may be nil. It must be repeatable.
	Clean func(ctx context.Context, t *Task) error

	// Find belongs only to the operator AnyOther, in place of Run: it returns the operator that the task's project
	// defines under a name, and false if it defines none.
	Find func(t *Task, name string) (Operator, bool, error)
}

// AnyOther is the name of the Registry entry that finds operators that are not in any registry. It is not a valid name
// in the language, so tasks cannot refer to it.
const AnyOther = "*"

// Registry finds operators by name.
type Registry map[string]Operator

// NewRegistry builds a registry from a literal list; it panics on a name listed twice.
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

// Names lists the operators that are known without any project.
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
	State  *param.Map // state params of the previous run; never nil
	Now    time.Time  // the time of this run; operators never read the clock
	Steady time.Time  // Now by a clock that is correct when the process starts and is never adjusted; zero if there is none
	Level  int        // of the language of its file, see keys.Language

	Log       Log
	Files     Files
	RunFolder string // the folder in Files for scripts of commands; "" is DigdagRunFolder: commands can see the name
	Secrets   Secrets
	Commands  Commands
	Store     ParamStore // nil if no parameter server is configured
	Workflows Workflows
	Notifier  Notifier
	HTTP      HTTPClient
	Network   Network // nil for the machine's network

	// Config is the host's own configuration below "config." (mail, http ...), as a tree.
	Config *param.Map
	// TaskLimit is how many tasks an attempt may have; loops check it before they generate.
	TaskLimit int
	// Template evaluates `${...}` in text, such as a file's content, with Params as variables.
	Template func(text string) (string, error)

	// Variables are "NAME=value" for commands, below all others: `zerodag run --env-file`. References to secrets
	// in their values are replaced.
	Variables []string
	// VariableFiles are files with further variables; later files win.
	VariableFiles []keys.EnvFile
	// References identify the `${secret:key}` that the project wrote, for SecretText and CheckNames. If nil, nothing is
	// data, and the project wrote all of it.
	References References
}

// Identity identifies this run of its task.
type Identity struct {
	SiteID      int64
	ProjectID   int64
	ProjectName string
	Revision    string
	Workflow    string
	SessionID   int64
	SessionUUID string
	SessionTime time.Time // in the workflow's zone
	Zone        string    // as written in the workflow, "Asia/Tokyo"
	AttemptID   int64
	// RetryAttemptName is empty for a session's first attempt.
	RetryAttemptName string
	TaskID           int64  // ordinal within the attempt, 1 = root
	TaskName         string // full name, "+wf+group+task"
	Dispatch         int    // which run of the task this is, from 1; never repeats
	// Try is the number shown to users: evaluating the keys of the task and requesting slots do not count as runs. 1 is
	// never used twice.
	Try int
	// RetryCount is how many times the task requested another run (polls and retries).
	RetryCount int
	StartedAt  time.Time // of the task's first run
}

// IdempotencyKey returns a key that is the same for every run of a task in an attempt: commands pass it to services
// that can drop a repeated request.
func (i Identity) IdempotencyKey() string {
	return fmt.Sprintf("%d-%d-%d", i.SiteID, i.AttemptID, i.TaskID)
}

// Result is the output of a successful run.
type Result struct {
	Subtasks   *param.Map // config of a task or group to run below this one; nil for none
	Export     *param.Map // visible to the generated tasks
	Store      *param.Map // visible to everything that follows
	ResetStore [][]string // paths removed before Store is merged
	Secret     bool       // the run was given secrets, which its result may contain; set by the host
}

// Later is the error of a Run that wants to be called again.
type Later struct {
	After time.Duration // from now; rounded up to whole seconds, 0 is at once
	State *param.Map    // state params of the next run
	Err   error         // the reason, if a failure is being retried; otherwise nil
	Retry bool          // the next run is another try of the task, not another poll of this one
	Until time.Time     // when the try must have ended; the host sets this and the following fields

	SlowAt time.Time // when users are warned that the try is slow
	Warned bool      // the warning was sent
}

func (l *Later) Error() string {
	if l.Err != nil {
		return fmt.Sprintf("run again after %v: %v", l.After, l.Err)
	}
	return fmt.Sprintf("run again after %v", l.After)
}

func (l *Later) Unwrap() error { return l.Err }

// Failure is a failure of the task that the operator reports itself: its message is shown without a kind, and without a
// stack trace unless it has a cause (`fail>`, `http>`, `require>`).
type Failure struct {
	Message    string
	Properties *param.Map // further keys of the error object; may be nil
	Cause      error      // the underlying error; nil if the message contains everything
	Trace      string     // where a user's program failed, in its language; "" for none
}

func (f *Failure) Error() string { return f.Message }

func (f *Failure) Unwrap() error { return f.Cause }

// Object returns the failure as `_error` tasks see it: with a stack trace if it has a cause, or if a user's program
// produced one.
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

// Failf returns a Failure.
func Failf(format string, args ...any) error {
	return &Failure{Message: fmt.Sprintf(format, args...)}
}

// Causedf returns a Failure caused by an error, in the operator's own words (`pg>`, `mail>`).
func Causedf(cause error, format string, args ...any) error {
	return &Failure{Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Fault is an unexpected failure: "message (kind)" with a stack trace key. Kind is Digdag's exception in words, like
// "illegal argument"; empty means "runtime".
type Fault struct {
	Message string
	Kind    string
}

func (f *Fault) Error() string { return f.Message }

// ErrorKind returns the word that users see after the message.
func (f *Fault) ErrorKind() string { return cmp.Or(f.Kind, "runtime") }

// Faultf returns a Fault of a kind.
func Faultf(kind, format string, args ...any) error {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
