package run

import (
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Stored says whether `${...}` in what operators stored is evaluated before each task that
// sees it, as the original does, secrets included. Else what a task stored is data: a
// server that `http>` asks, or a row of a database, cannot have its text run as code.
type Stored int

// Who decides.
const (
	StoredByProject Stored = iota // a workflow that exports `eval: {stored: true}`
	StoredAsData                  // no stored value is evaluated
	StoredAsCode                  // everybody's is
)

// Evaluated says whether it is for the tasks of a workflow. Only its own text counts, never
// a parameter: a user who may push it may run code.
func (s Stored) Evaluated(workflow *param.Map) bool {
	if s != StoredByProject {
		return s == StoredAsCode
	}
	return keys.EvalsStored(workflow)
}
