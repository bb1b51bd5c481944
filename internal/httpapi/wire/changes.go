package wire

import (
	"zerodag/engine"
)

// Change is an entry of the history of an attempt, and its effect on the tasks.
type Change struct {
	Seq int64 `json:"seq"`
	At  int64 `json:"at"` // milliseconds since 1970
	// Made are tasks that were not there before; null for none.
	Made *TaskColumns `json:"made"`
	// Task, State and Runs are tasks that were there and that it changed: row i is the same task. A state may
	// be the same as before.
	Task  []engine.TaskID `json:"task"`
	State []string        `json:"state"`
	Runs  []int           `json:"runs"`
	Retry []int64         `json:"retry"` // milliseconds since 1970; 0 for none
	Standings
}

// ChangeBytes is about what a task takes that changed.
const ChangeBytes = 30
