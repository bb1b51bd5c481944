package engine

import (
	"cmp"
	"slices"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// TaskID numbers the tasks of an attempt; the root is 1.
type TaskID int

// Root is the task that stands for the workflow itself.
const Root TaskID = 1

// TaskState is the state of a task (engine.md 2.4). The numbers are stored.
type TaskState uint8

// The states, with Digdag's numbers.
const (
	Blocked           TaskState = 0 // waiting for its parent or upstreams
	Ready             TaskState = 1 // passed through within one step, never seen between steps
	RetryWaiting      TaskState = 2 // will run again at RetryAt
	GroupRetryWaiting TaskState = 3 // children failed, the group runs again at RetryAt
	Running           TaskState = 4 // sent to be run
	Planned           TaskState = 5 // own work done, waits for children
	GroupError        TaskState = 6 // a child failed
	Success           TaskState = 7
	Failed            TaskState = 8 // the operator failed
	Canceled          TaskState = 9
)

var stateNames = [...]string{"blocked", "ready", "retry_waiting", "group_retry_waiting", "running",
	"planned", "group_error", "success", "error", "canceled"}

// String returns the name that the REST API shows.
func (s TaskState) String() string { return stateNames[s] }

// Done reports whether the state is final.
func (s TaskState) Done() bool { return s >= GroupError }

// Error reports whether the state is a failure.
func (s TaskState) Error() bool { return s == GroupError || s == Failed }

// Task is one node of the attempt's tree. Exported fields are read-only.
type Task struct {
	ID        TaskID
	Parent    TaskID // 0 for the root
	Name      string // full name, "+wf+group+task"
	Config    *param.Map
	Export    *param.Map
	Upstreams []TaskID
	Group     bool
	Level     int // the language of its file, see keys.Language
	// Initial tasks came with the workflow or with an operator's result; a retried group copies these and no others
	// (engine.md 2.7).
	Initial bool
	Resumed bool // carried over as succeeded from an earlier attempt
	Left    Left // of a task that was carried over

	Progress
	*Outcome // nil until a run has returned something

	// The following fields are derived from the above and never stored.
	children   []TaskID
	downstream []TaskID
	waiting    int    // number of upstreams that have not passed
	active     int    // number of children that can still change state
	failed     int    // children in an error state, except older copies
	busy       int    // number of children under way
	begun      int    // this many leading children are known to have begun, if sliding is not 0
	sliding    int    // how many children may be under way at once; 0: any number
	overtaken  bool   // a child was carried over although an earlier one was not
	storing    bool   // it or a descendant stored parameters
	scope      *scope // what it sees; set when it starts
	inner      *scope // what its children see; set when they may start
	after      *scope // its stores merged into its scope, shared by all later tasks
}

// Progress is the part of a task that a step replaces as a whole.
type Progress struct {
	State      TaskState  `json:"state"`
	Cancel     bool       `json:"cancel,omitempty"`  // whether a kill was requested
	Ending     TaskState  `json:"ending,omitempty"`  // final state once ^error and ^failure-alert ended
	Dispatch   int        `json:"d,omitempty"`       // number of the current run; 0 before the first
	Guard      string     `json:"guard,omitempty"`   // the message that owes the current run, or the timer
	RetryCount int        `json:"retries,omitempty"` // how many times it was asked to run again
	Idle       int        `json:"idle,omitempty"`    // how many of the numbers in Dispatch belong to no run, see idles
	Losses     int        `json:"losses,omitempty"`  // runs that never reported back
	Crashes    int        `json:"crashes,omitempty"` // consecutive crashes of the only server while it ran
	StartedAt  time.Time  `json:"started,omitzero"`  // first run
	UpdatedAt  time.Time  `json:"updated,omitzero"`  // last change of state
	RetryAt    time.Time  `json:"retry,omitzero"`    // when a waiting task is due
	Params     *param.Map `json:"sp,omitempty"`      // state params for the next run
	// LogIncomplete reports that some log text of its runs could not be stored.
	LogIncomplete bool `json:"log_incomplete,omitempty"`

	// Only for tasks of a file with `zerodag: 1`.
	Preparing bool   `json:"prep,omitempty"`    // the current run evaluates its `zerodag: 1` keys, see Prepared
	Ends      bool   `json:"ends,omitempty"`    // everything below has succeeded, and such a run evaluates `outputs`
	Skipped   string `json:"skipped,omitempty"` // why it was skipped; it counts as succeeded
	Ignored   bool   `json:"ignored,omitempty"` // it failed, but counts as succeeded

	// Held reports that a task that is waiting for its next run needs a place under `concurrency: {tasks: N}`, the end of
	// a pause or, if it is the root, the attempt's turn. No guard owes the task then.
	Held bool `json:"held,omitempty"`

	Closing Closing        `json:"closing,omitempty"` // the part of its cleanup under way; Ending follows
	Pool    *claim.Use     `json:"pool,omitempty"`    // nil if it needs no slots
	Timeout *claim.Timeout `json:"timeout,omitempty"` // nil for no limit
}

// Outcome holds the results that a task's runs returned.
type Outcome struct {
	Subtasks   *param.Map `json:"sub,omitempty"`
	Exports    *param.Map `json:"export,omitempty"`
	Stores     *param.Map `json:"store,omitempty"`
	ResetStore [][]string `json:"reset,omitempty"`
	Error      *param.Map `json:"error,omitempty"` // {message, stacktrace?}
	// Outputs are the values of the file's `outputs`, for the root of an attempt that succeeded.
	Outputs *param.Map `json:"outputs,omitempty"`
	// Secret reports that the run was given secrets, which its results may contain.
	Secret bool `json:"secret,omitempty"`
}

// DefaultLimit is the task limit of an attempt unless configured (language.md 1.14).
const DefaultLimit = 1000

// HardLimit caps what copies of retried groups may add beyond the limit.
const HardLimit = 100_000

// Definition is what an attempt runs. It is static and shared, and not part of the log.
type Definition struct {
	Name  string
	Nodes []dig.Node // compiled, the root first
	Tasks int        // how many tasks may run at once; 0: any number
	SLA   *schedule.SLA
	Zone  *time.Location // of the workflow
}

// Define compiles a workflow for its attempts.
func Define(w dig.Workflow) (*Definition, error) {
	nodes, err := dig.Tree(w.Name, w.Config)
	if err != nil {
		return nil, err
	}
	zone, err := schedule.Zone(w.Zone)
	if err != nil {
		return nil, err
	}
	d := &Definition{Name: w.Name, Nodes: nodes, Zone: zone, Tasks: keys.ConcurrencyOf(w.Config).Tasks}
	if v, _ := w.Config.Get("sla"); v != nil {
		sla, err := param.AsMap("sla", v)
		if err != nil {
			return nil, err
		}
		if d.SLA, err = schedule.ParseSLA(sla); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// CheckLimit returns an error if an attempt may not have this many tasks (0 is DefaultLimit). The root counts twice, as
// in Digdag. A host calls it before it starts an attempt.
func (d *Definition) CheckLimit(limit int) error {
	limit = cmp.Or(limit, DefaultLimit)
	if 1+len(d.Nodes) > limit {
		return tooManyTasks(limit, 1, len(d.Nodes))
	}
	return nil
}

// State is one attempt. New or DecodeState creates it, and only Step and Apply change it. It belongs to one goroutine
// at a time.
type State struct {
	def      *Definition
	params   *param.Map // given at start
	defaults *param.Map // merged below them
	limit    int
	carried  map[string]Carried

	started  bool
	canceled bool
	forced   bool    // killed a second time: nothing is spared
	paused   *Paused // nil if not paused
	ended    bool
	endGuard string
	slaAt    time.Time // zero when there is none or it has fired
	slaGuard string
	startsAt time.Time // when it begins; zero once it has begun
	startAt  time.Time

	startsGuard string // the message that owes the timer of startsAt

	endAt time.Time

	priority  int        // given at start
	slot      *claim.Use // the slot that the attempt needs to begin; nil: none. It is replaced as a whole, never changed
	slotGuard string     // the message that owes the request for it

	occupied int // tasks that take a place of `concurrency: {tasks: N}`; derived

	secret bool // some Outcome has Secret set
	tree
	growing []growth
	owed    map[string]*debt
	freeing map[string][]TaskID // tasks whose slots a guard must release; nil: none
	timers  map[string][]TaskID // tasks whose `_timeout` timer a guard owes; nil: none
}

// New returns the state of an attempt that has not been started. defaults are parameters below those given at start
// (language.md 1.5, steps 1 and 2); they may be nil.
func New(def *Definition, defaults *param.Map) *State {
	return &State{def: def, defaults: defaults, owed: map[string]*debt{}}
}

// Failure returns the first task that failed without further retries, and its message; "" if none did. Groups count
// only if they timed out, otherwise the failed task is inside them. A task of an earlier iteration of a group does not
// count.
func (s *tree) Failure() (task, message string) {
	var first *Task
	old := s.Superseded()
	for _, t := range s.tasks {
		if t != nil && !old[t.ID] && t.FailedItself() && (first == nil || t.UpdatedAt.Before(first.UpdatedAt)) && !s.IsIgnored(t) && !s.apart(t) {
			first = t
		}
	}
	if first == nil {
		return "", ""
	}
	text, _ := first.Error.Get("message")
	message, _ = text.(string)
	return first.Name, message
}

// FailedItself reports whether a task itself failed, and not only one below it. That includes a group that timed out,
// and a task whose failure handlers, `^error` and `^failure-alert`, still run.
func (t *Task) FailedItself() bool {
	switch cmp.Or(t.Ending, t.State) {
	case Failed:
		return true
	case GroupError:
		return t.Outcome != nil && t.Error.Len() > 0
	}
	return false
}

// HoldsSecrets reports whether task results may contain secrets that the tasks were given.
func (s *State) HoldsSecrets() bool { return s.secret }

// Params returns the parameters given at start.
func (s *State) Params() *param.Map { return s.params }

// Definition returns the definition that the attempt runs.
func (s *State) Definition() *Definition { return s.def }

// Outputs returns a successful attempt's outputs; nil if its file has none.
func (s *State) Outputs() *param.Map {
	if !s.Succeeded() || s.tasks[0].Outcome == nil {
		return nil
	}
	return s.tasks[0].Outputs
}

// Ignored reports whether an attempt succeeded although tasks failed, because their errors are ignored.
func (s *State) Ignored() bool {
	return s.Succeeded() && slices.ContainsFunc(s.tasks, func(t *Task) bool { return t != nil && t.Ignored && t.State == Success })
}

// Canceled reports whether a kill was requested.
func (s *State) Canceled() bool { return s.canceled }

// Ended reports whether the attempt has ended; EndedAt returns when it did.
func (s *State) Ended() bool { return s.ended }

// EndedAt returns when the attempt ended; zero before.
func (s *State) EndedAt() time.Time { return s.endAt }

// Succeeded reports whether the attempt has ended and its root succeeded.
func (s *State) Succeeded() bool { return s.ended && s.tasks[0].State == Success }

// counted reports whether a child can still change state (engine.md 2.6, "progressible").
func (t *Task) counted() bool {
	return t.State >= Ready && t.State <= Planned || t.State == Blocked && t.waiting == 0
}
