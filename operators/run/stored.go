package run

import (
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Stored decides whether `${...}` in values stored by operators is evaluated before each task that sees it, as in
// Digdag, secrets included. Otherwise stored values are data: text from a server that `http>` called, or from a row in
// a database, cannot run as code.
type Stored int

// Values of Stored.
const (
	StoredByProject Stored = iota // evaluated if the workflow exports `eval: {stored: true}`
	StoredAsData                  // no stored value is evaluated
	StoredAsCode                  // stored values of all projects are evaluated
)

// Evaluated reports whether stored values are evaluated for a workflow's tasks. Only the workflow's own text counts,
// never a parameter: a user who may push it may run code.
func (s Stored) Evaluated(workflow *param.Map) bool {
	if s != StoredByProject {
		return s == StoredAsCode
	}
	return keys.EvalsStored(workflow)
}
