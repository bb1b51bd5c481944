package lint

import (
	"slices"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// nested warns about expressions within mappings that evaluate to the text of another expression.
func (c *critic) nested(at []string, task string, config *param.Map) {
	keys.NestedUses{
		Exports: c.exports,
		Skip: func(name string) bool {
			return slices.Contains(c.loops, name) || slices.Contains(c.known.Variables, name)
		},
		Report: c.reporter(at, task),
	}.Task(config)
}
