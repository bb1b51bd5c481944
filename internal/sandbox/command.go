package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// State is a command's state.
type State string

// A command's states.
const (
	Waiting State = "waiting" // for a runner
	Claimed State = "claimed" // by one
	Over    State = "over"
)

// Command is one command of an attempt.
type Command struct {
	Attempt int64
	// Key identifies the command in its attempt: the task and its retry count. A run that is repeated after a crash
	// finds the command of the previous run.
	Key       string
	Site      int64
	Project   int64
	Task      string // full name of its task
	Class     string // Class.Key of the runners that may run it
	Spec      []byte // Spec, JSON, without secrets
	CreatedAt time.Time

	State  State
	Runner string // Runner.Name of the runner that claimed it
	// Parked is the waiting run of the task: 0 while an agent polls.
	Parked int
	Result Result // when it has ended
	// Ended means that the runner of a stopped command has ended all its processes.
	Ended bool
	// Troubles counts runners that could not be started for the command; Trouble is the reason for the last failure.
	Troubles int
	Trouble  string
}

// Result is how a command ended.
type Result struct {
	Code    int               `json:"code"`
	Signal  int               `json:"signal,omitempty"`   // the signal that ended it
	Why     string            `json:"why,omitempty"`      // why it was ended
	Outputs map[string][]byte `json:"outputs,omitempty"`  // small ones
	Blobs   map[string]string `json:"blobs,omitempty"`    // keys of large ones, by name
	Lost    bool              `json:"lost,omitempty"`     // its runner is gone
	Stopped bool              `json:"stopped,omitempty"`  // its task was killed or timed out
	Log     []byte            `json:"log,omitempty"`      // of a command on a function: its output, if it is short
	LogLost string            `json:"log_lost,omitempty"` // why the end of its log is missing
}

// Spec holds everything a runner needs to run a command.
type Spec struct {
	Name    string            `json:"name"` // of the project's folder
	Args    []string          `json:"args"`
	Dir     string            `json:"dir,omitempty"`
	Env     []string          `json:"env,omitempty"`
	Scratch string            `json:"scratch,omitempty"`
	Files   map[string][]byte `json:"files,omitempty"`
	Outputs []string          `json:"outputs,omitempty"`
	Limits  Limits            `json:"limits"`

	Archive string `json:"archive"`           // key of the blob; runners get a link
	LogID   LogID  `json:"log"`               // of its task; runners get links
	Secrets []Seal `json:"secrets,omitempty"` // the secrets removed above
}

// Limits holds a command's limits; 0 means none.
type Limits struct {
	Seconds   int64 `json:"seconds,omitempty"`
	Processes int   `json:"processes,omitempty"`
	Output    int64 `json:"output,omitempty"` // bytes of the log
	Disk      int64 `json:"disk,omitempty"`   // bytes of the workspace
	Memory    int64 `json:"memory,omitempty"` // bytes
}

// LogID identifies the log that the output of a command belongs to.
type LogID struct {
	Site    int64  `json:"site"`
	Attempt int64  `json:"attempt"`
	Task    string `json:"task"`
}

func parseSpec(text []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read command: %w", err)
	}
	return s, nil
}

// MaxOutput limits how much of one output file is read back, in bytes; output files that together are smaller than
// inlineOutput are part of the result.
const (
	MaxOutput    = 16 << 20
	InlineOutput = 100 << 10
)
