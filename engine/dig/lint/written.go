package lint

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// written checks the parameters that a task gives to an operator that the project defines in a workflow file.
func (c *critic) written(at []string, task, operator, key string, config *param.Map) {
	if slices.Contains(c.known.BuiltIn, operator) || strings.ContainsAny(operator, "$/") {
		return
	}
	file, raw, errs := dig.ReadOperator(c.read, operator)
	place := append(slices.Clone(at), key)
	switch {
	case len(errs) > 0:
		c.faulty(place, task, errs)
		return
	case raw == nil:
		return
	case !raw.Has(keys.LevelKey):
		c.warn(place, task, fmt.Sprintf("put `%s: %d` at its top, and `params` with the keys it takes", keys.LevelKey, keys.Latest), "%s", dig.OperatorGate(file))
		return
	}
	if c.level > 0 { // it runs no command, unless an executable has its name
		keys.CommandFaults(operator, config, c.reporter(at, task))
	}
	declared, given := keys.ReadParams(raw), param.New()
	for name, v := range config.All() {
		if !strings.HasPrefix(name, "_") && !strings.HasSuffix(name, ">") {
			given.Set(name, v)
		}
	}
	command := config.Value(key)
	for i, q := range declared.List {
		v := given.Value(q.Name)
		if i == 0 && v == nil {
			v = command
		}
		if strings.Contains(param.Text(v), "${") { // its value is not yet known
			declared.List[i] = keys.Param{Name: q.Name}
		}
	}
	if _, faults := declared.Arguments(operator, command, given); len(faults) > 0 {
		c.warn(place, task, "see `params` of "+file, "%s> cannot run with this: %s", operator, strings.Join(faults, "; "))
	}
}
