package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"zerodag/engine/param"
)

// ErrUnavailable is wrapped by errors from all host capabilities if one of the deployment's stores is temporarily
// unavailable: throttled, down or full. A run that ends with this error is repeated later; it neither fails its task
// nor counts as a try of `_retry` (operators/run).
var ErrUnavailable = errors.New("the store is unavailable")

// ErrNoEvaluator is wrapped by the error from an Evaluator that could not be started for a reason other than a
// shortage. A run that ends with this error is retried for about a minute, since another machine may be able to run it;
// after that, the task fails.
var ErrNoEvaluator = errors.New("expressions cannot be evaluated on this machine")

// IsAway reports whether an error is about the deployment rather than the task's work.
func IsAway(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoEvaluator) }

// Log is the task's log. Its methods may be called concurrently.
type Log interface {
	// Write appends a command's raw output. It never fails: a log that cannot be stored is the host's problem, not the
	// task's.
	io.Writer
	// Line appends one engine message in Digdag's format, with time, level and the name of its source
	// ("OperatorManager").
	Line(level Level, logger, message string)
	// Echo appends the message of `echo>`: without a newline in the task's log, and as a separate line on a terminal
	// (engine.md 2.13).
	Echo(message string)
}

// Level is the level of a log line.
type Level string

// The levels of log lines.
const (
	Debug Level = "DEBUG"
	Info  Level = "INFO"
	Warn  Level = "WARN"
	Error Level = "ERROR"
)

// Files is the project's folder as this run sees it. Names use "/" and are relative to the project; files outside of it
// cannot be accessed.
type Files interface {
	// Root is the absolute path of the project's folder.
	Root() string
	// Read returns a project file's content. The error is fs.ErrNotExist if the file is missing, and a ConfigError if
	// the name leads out of the project.
	Read(name string) ([]byte, error)
	// Write replaces a file, creating folders as needed.
	Write(name string, content []byte) error
	// Load reads name as a workflow file: the config of a group, ready for Result.Subtasks. A file in a subfolder gets
	// `_workdir` (language.md 1.3).
	Load(name string) (*param.Map, error)
}

// Secrets provides the secrets that the project grants to this task.
type Secrets interface {
	// Get returns the value of a dotted key, after `_secrets` re-mounting, and whether it exists. An error means that
	// the store could not be read.
	Get(key string) (string, bool, error)
	// GetUnmounted is Get with the key as written, for `_env`.
	GetUnmounted(key string) (string, bool, error)
}

// Command is one process to run in the sandbox, as plain data, so that it can be sent elsewhere.
type Command struct {
	Args    []string          // argv; paths are relative to Dir
	Dir     string            // working folder, relative to the project; "" is its root
	Env     []string          // "NAME=value" added to the host's environment; later ones win
	Scratch string            // folder for Files and Outputs, relative to the project; removed at the end
	Files   map[string][]byte // written to Scratch before the start
	Outputs []string          // names in Scratch read after the end
	Stdout  io.Writer         // receives stdout and stderr, in order, as they arrive

	Sandbox Sandbox           // where it runs, and its limits
	Secrets map[string]string // secrets that may be in Args, Env or Files; they are never stored
	Status  *param.Map        // from the Pending with which an earlier run of the task ended; nil at first
	Grace   time.Duration     // see GraceFor
}

// Exit describes how a command ended.
type Exit struct {
	Code    int               // 128 + n when signal n ended it
	Signal  int               // that n; 0 for none
	Why     string            // why it was terminated, as a sentence; "" if it ended on its own
	Outputs map[string][]byte // the files of Command.Outputs that exist
}

// String describes the exit as errors do.
func (e Exit) String() string {
	if e.Signal == 0 {
		return fmt.Sprintf("code %d", e.Code)
	}
	return fmt.Sprintf("code %d (signal %d, %v)", e.Code, e.Signal, syscall.Signal(e.Signal))
}

// Commands runs commands.
type Commands interface {
	// Run starts the command and waits for its end, or returns a *Pending. In that case, a later run of the task calls
	// Run again with the Status of the Pending. Once the command has ended, none of its processes remain. Canceling ctx
	// ends the whole process tree. Other errors mean that the command could not be started or watched; an exit code is
	// not an error.
	Run(ctx context.Context, c Command) (Exit, error)
	// Stop ends a command that is Pending; it does nothing to a finished one.
	Stop(ctx context.Context, status *param.Map) error
}

// Pending is the error for a command that runs elsewhere and has not ended yet.
type Pending struct {
	Status *param.Map
	After  time.Duration // when to check it, unless its end is reported sooner
}

func (p *Pending) Error() string { return "the command has not ended yet" }

// ParamStore is the store behind `param_set>` and `param_get>`: strings by key, kept for 90 days, shared by all
// projects of a site.
type ParamStore interface {
	// Set sets all values or none, and replaces existing ones.
	Set(ctx context.Context, values map[string]string) error
	// Get returns a key's value, and whether it exists and has not expired.
	Get(ctx context.Context, key string) (value string, found bool, err error)
}

// StartRequest requests an attempt of another workflow.
type StartRequest struct {
	ProjectID        int64  // 0: by name or the same project
	ProjectName      string // "": by id or the same project
	Workflow         string
	SessionTime      time.Time
	RetryAttemptName string // "" for none
	Params           *param.Map
}

// StartedAttempt is the state of an attempt that `require>` waits for.
type StartedAttempt struct {
	SessionID, AttemptID int64
	New                  bool // false if it already existed
	Done, Success        bool
}

// Reasons why an attempt could not be started.
var (
	ErrNoWorkflow      = errors.New("workflow not found")
	ErrTooManyAttempts = errors.New("too many attempts running")
	// ErrPaused means that the project is paused. The attempt starts when the project is resumed.
	ErrPaused = errors.New("the project is paused")
)

// Workflows starts and inspects attempts of other workflows.
type Workflows interface {
	// StartAttempt starts an attempt, or returns the existing one of that session and retry name. Otherwise it returns
	// ErrNoWorkflow, ErrTooManyAttempts, ErrPaused or a store error.
	StartAttempt(ctx context.Context, r StartRequest) (StartedAttempt, error)
}

// Notifier sends notifications (server.md#settings).
type Notifier interface {
	// Notify returns once the message is delivered, or stored until it is; an error fails the task that sent it.
	Notify(ctx context.Context, message string, t *Task) error
	// NotifySlow is like Notify, but for the warning that the task is slow.
	NotifySlow(ctx context.Context, message string, t *Task) error
}

// HTTPClient creates clients for `http>`; the host controls proxies and limits.
type HTTPClient interface {
	// Client returns a client for one run of a task.
	Client(o HTTPOptions) *http.Client
}

// Network opens connections for operators that do not use one of the host's clients.
type Network interface {
	// DialContext is like net.Dialer's method.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer returns the task's Network, or the machine's if the host has no restrictions.
func (t *Task) Dialer() Network {
	if t.Network != nil {
		return t.Network
	}
	return &net.Dialer{}
}

// HTTPOptions are the options of `http>` that affect a connection.
type HTTPOptions struct {
	Insecure bool
	// ProxyURL is "" for the proxy of the environment.
	ProxyURL     string
	MaxRedirects int // 0: redirects are not followed
	Timeout      time.Duration
	// KeepAlive reuses connections until the client's CloseIdleConnections is called. In that case, the order and
	// spelling of Headers are not preserved.
	KeepAlive bool
	// Headers lists the names of headers, in order and as spelled; a repeated name takes the request's values in turn.
	Headers []string
}

// ProxyRefusal is the response of a proxy that does not open a tunnel.
type ProxyRefusal struct{ Status int }

// ProxyHandshake is a failure to negotiate TLS with the proxy itself, for a reason other than its certificate.
type ProxyHandshake struct{ Err error }

func (h *ProxyHandshake) Error() string {
	return fmt.Sprintf("the proxy does not speak TLS: %v", h.Err)
}

// Unwrap returns the cause.
func (h *ProxyHandshake) Unwrap() error { return h.Err }

func (r *ProxyRefusal) Error() string {
	return fmt.Sprintf("the proxy refused to connect: %d %s", r.Status, http.StatusText(r.Status))
}
