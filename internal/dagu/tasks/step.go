// Package tasks creates the task for a step that runs a command: its program, container, variables, conditions and
// outputs, and its policies for errors and repetition. Steps of all kinds get their policies here.
//
// It must not know the kinds of steps: package kinds creates commands for them and calls this package.
package tasks

import (
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/sequence"
)

// Step is one step, or several steps in a nested list, which run concurrently.
type Step struct {
	references.Translator
	*sequence.Node
	Beside []*Step
	Ruled  *param.Map // rules for values of its command, and fixed values, by the name of the stored value
	Checks []*param.Map
}

// None refuses keys that only apply to commands.
func (s *Step) None(keys ...string) {
	for _, key := range append(keys, "outputs", "stdout", "stderr", "container") {
		if s.Has(key) {
			s.Refuse(s.Map, key, "run a command that does the same", "%s is not translated for a step of type %s", key,
				document.Text(s.Map, "type"))
		}
	}
}
