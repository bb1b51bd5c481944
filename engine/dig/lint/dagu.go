package lint

import (
	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// dagu warns about a key of a Dagu step at an operator that does not read it. Files without `zerodag: 1` may have
// variables with that name, and so may operators that pass all of their keys to a function or a command.
func (c *critic) dagu(place []string, task, operator, key string, config *param.Map) bool {
	meant := keys.OfDagu(key)
	if c.level == 0 || meant == "" || operator == "py" || operator == "rb" || c.readingOf(config).asks(key) {
		return false
	}
	c.warn(place, task, "write "+meant+"; name your own variables differently, or use _export", "%s is a key of Dagu, which %s> ignores", key, operator)
	return true
}
