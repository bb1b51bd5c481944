package wire

import (
	"zerodag/engine"
)

// Change is an entry in an attempt's history, and its effect on the tasks.
type Change struct {
	Seq int64 `json:"seq"`
	At  int64 `json:"at"` // milliseconds since 1970
	// Made holds new tasks; null for none.
	Made *TaskColumns `json:"made"`
	// Task, State and Runs describe existing tasks that it changed: row i of each describes the same task. A state may be
	// the same as before.
	Task  []engine.TaskID `json:"task"`
	State []string        `json:"state"`
	Runs  []int           `json:"runs"`
	Retry []int64         `json:"retry"` // milliseconds since 1970; 0 for none
	Standings
}

// ChangeBytes is the approximate size of a changed task.
const ChangeBytes = 30
