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

// ErrUnavailable is in the errors of all that a host gives to a task when a store of the deployment
// cannot work now: it is throttled, away or full. A run that ends with it is made again later, and
// neither fails its task nor counts as a try of `_retry` (operators/run).
var ErrUnavailable = errors.New("the store is not available now")

// ErrNoEvaluator is in the error of an Evaluator that could not be started for another reason than a shortage. A run that ends
// with it is made again for about a minute, since it may be another machine that makes it; then it fails its task.
var ErrNoEvaluator = errors.New("expressions cannot be evaluated on this machine")

// IsAway reports whether an error is about the deployment, and not about what the task does.
func IsAway(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoEvaluator) }

// Log is the task's log. Its methods may be called by several goroutines.
type Log interface {
	// Write appends output of a command, raw. It never fails: a log that cannot be kept
	// is the host's trouble, not the task's.
	io.Writer
	// Line appends one message of the engine in the original's format, with time, level
	// and the name of its source ("OperatorManager").
	Line(level Level, logger, message string)
	// Echo appends the message of `echo>`: without a newline of its own in the task's log,
	// as a line of its own where a person watches (engine.md 2.13).
	Echo(message string)
}

// Level is the weight of a log line.
type Level string

// The levels of log lines.
const (
	Debug Level = "DEBUG"
	Info  Level = "INFO"
	Warn  Level = "WARN"
	Error Level = "ERROR"
)

// Files is the project's folder as this run sees it. Names use "/" and are relative to
// the project; nothing outside of it is reached.
type Files interface {
	// Root is the absolute path of the project's folder.
	Root() string
	// Read returns the content of a file of the project. The error is fs.ErrNotExist when
	// it is missing, and a ConfigError when the name leads out of the project.
	Read(name string) ([]byte, error)
	// Write replaces a file, making folders as needed.
	Write(name string, content []byte) error
	// Load reads name as a workflow file: the config of a group, ready for Result.Subtasks.
	// A file in a sub-folder gets `_workdir` (language.md 1.3).
	Load(name string) (*param.Map, error)
}

// Secrets gives the secrets that the project grants to this task.
type Secrets interface {
	// Get returns the value of a dotted key, after `_secrets` re-mounting, and whether
	// there is one. An error says the store could not be read.
	Get(key string) (string, bool, error)
	// GetUnmounted is Get with the key as written, for `_env`.
	GetUnmounted(key string) (string, bool, error)
}

// Command is one process to be run in the sandbox, as plain data, so that it can be
// carried elsewhere.
type Command struct {
	Args    []string          // argv; paths are relative to Dir
	Dir     string            // working folder, relative to the project, "" is its root
	Env     []string          // "NAME=value" added to the host's environment; later ones win
	Scratch string            // folder for Files and Outputs, relative to the project; removed at the end
	Files   map[string][]byte // put into Scratch before the start
	Outputs []string          // names in Scratch read after the end
	Stdout  io.Writer         // receives stdout and stderr in their order, as they come

	Sandbox Sandbox           // where it runs, and within which limits
	Secrets map[string]string // secrets that may be in Args, Env or Files: they are stored nowhere
	Status  *param.Map        // of the Pending that an earlier run of the task ended with; nil at first
	Grace   time.Duration     // see GraceFor
}

// Exit says how a command ended.
type Exit struct {
	Code    int               // 128 + n when signal n ended it
	Signal  int               // that n; 0 for none
	Why     string            // it was ended: for what reason, as a sentence; "" when it ended by itself
	Outputs map[string][]byte // those of Command.Outputs that exist
}

// String is the end as errors name it.
func (e Exit) String() string {
	if e.Signal == 0 {
		return fmt.Sprintf("code %d", e.Code)
	}
	return fmt.Sprintf("code %d (signal %d, %v)", e.Code, e.Signal, syscall.Signal(e.Signal))
}

// Commands runs commands.
type Commands interface {
	// Run starts the command and waits for its end, or returns a *Pending: then it is called
	// again, by a later run of the task, with the Status of that. When it is over, no process
	// of it is left. A cancelled ctx ends the whole process tree. Other errors say that it
	// could not be started or watched; an exit code is not an error.
	Run(ctx context.Context, c Command) (Exit, error)
	// Stop ends a command that is Pending; one that is over is left alone.
	Stop(ctx context.Context, status *param.Map) error
}

// Pending is the error of a command that runs elsewhere and is not over yet.
type Pending struct {
	Status *param.Map
	After  time.Duration // when it is to be looked at, unless it is told sooner
}

func (p *Pending) Error() string { return "the command is not over yet" }

// ParamStore is what `param_set>` and `param_get>` use: text by key, kept 90 days,
// shared by all projects of a site.
type ParamStore interface {
	// Set sets all values or none, and replaces those that are there.
	Set(ctx context.Context, values map[string]string) error
	// Get returns the value of a key, and whether there is one that is not too old.
	Get(ctx context.Context, key string) (value string, found bool, err error)
}

// StartRequest asks for an attempt of another workflow.
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
	New                  bool // false: it was there before
	Done, Success        bool
}

// Why an attempt could not be started.
var (
	ErrNoWorkflow      = errors.New("workflow not found")
	ErrTooManyAttempts = errors.New("too many attempts running")
	// ErrPaused: somebody has paused the project. It starts when the project goes on.
	ErrPaused = errors.New("the project is paused")
)

// Workflows starts and looks at attempts of other workflows.
type Workflows interface {
	// StartAttempt starts an attempt, or returns the existing one of that session and
	// retry name. ErrNoWorkflow, ErrTooManyAttempts, ErrPaused or a store's error otherwise.
	StartAttempt(ctx context.Context, r StartRequest) (StartedAttempt, error)
}

// Notifier tells people (server.md#settings).
type Notifier interface {
	// Notify returns when the message was delivered; an error fails the task that asked for it.
	Notify(ctx context.Context, message string, t *Task) error
}

// HTTPClient makes clients for `http>`; the host owns proxies and limits.
type HTTPClient interface {
	// Client returns a client for one run of a task.
	Client(o HTTPOptions) *http.Client
}

// Network opens connections for operators that have no client of the host's.
type Network interface {
	// DialContext is that of net.Dialer.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer is the Network of the task, or that of the machine where the host bounds nothing.
func (t *Task) Dialer() Network {
	if t.Network != nil {
		return t.Network
	}
	return &net.Dialer{}
}

// HTTPOptions are the options of `http>` that shape a connection.
type HTTPOptions struct {
	Insecure bool
	// ProxyURL is "" for the environment's proxy.
	ProxyURL     string
	MaxRedirects int // 0: redirects are not followed
	Timeout      time.Duration
	// KeepAlive uses connections again until CloseIdleConnections of the client is called. Headers
	// then have neither the order nor the letters of Headers.
	KeepAlive bool
	// Headers are names of headers as they are written and in their order; one that is there
	// several times takes the values of the request in turn.
	Headers []string
}

// ProxyRefusal is the answer of a proxy that does not open a tunnel.
type ProxyRefusal struct{ Status int }

// ProxyHandshake is the failure to agree on TLS with the proxy itself, for another reason than its certificate.
type ProxyHandshake struct{ Err error }

func (h *ProxyHandshake) Error() string {
	return fmt.Sprintf("the proxy does not speak TLS: %v", h.Err)
}

// Unwrap returns what failed.
func (h *ProxyHandshake) Unwrap() error { return h.Err }

func (r *ProxyRefusal) Error() string {
	return fmt.Sprintf("the proxy refused to connect: %d %s", r.Status, http.StatusText(r.Status))
}
