package lint

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// isForeign reports whether a value has the form that another tool expects for a key of foreignKeys. Some of the keys
// may well be the author's own variables.
func (c *critic) isForeign(key string, v param.Value) bool {
	m, isMap := v.(*param.Map)
	_, isList := v.([]param.Value)
	text, isText := v.(string)
	switch key {
	case "output", "outputs", "register", "save_as", "output_variable", "result":
		return isText && c.named()[text] || c.level > 0 && (isMap || isText && keys.EnvName().MatchString(text))
	case "resources", "limits":
		return slices.ContainsFunc([]string{"cpu", "cpus", "memory", "gpu", "requests", "limits"}, m.Has)
	case "with", "inputs", "arguments", "kwargs", "op_kwargs", "vars", "variables", "let", "set", "success", "failure", "cleanup", "teardown", "conditions":
		return isMap
	case "args", "argv", "items", "each":
		return isList
	case "body", "tasks", "steps", "before", "while", "until", "poll", "active", "then", "else", "elif", "else_if", "unless", "requires", "downstream", "dependencies", "depends":
		return isMap || isList || isText && strings.Contains(text, "${")
	}
	return true
}

// foreignHint returns the hint for another tool's key; "" if nothing is known about it.
func (c *critic) foreignHint(operator, key string) string {
	meant, ours := keys.MeantBy(operator, key)
	if meant == "" {
		return ""
	}
	if c.level == 0 && keys.NeedsGate(ours) {
		meant += ", which needs `zerodag: 1` at the top of the file"
	}
	return "write " + meant + "; name your own variables differently, or use _export"
}

// takesAnyKey are operators that pass on all keys of a task, as arguments or as parameters.
var takesAnyKey = []string{"py", "rb", "call", "param_set"}

// foreignKey warns about an unused key of a built-in operator's task: a key of other tools, or any key if the operator
// runs no command, which would receive all keys of its task.
func (c *critic) foreignKey(place []string, task, operator, key string, config *param.Map) bool {
	if !slices.Contains(c.known.BuiltIn, operator) || mayTake(operator, key) || c.reads(key, config) {
		return false
	}
	own := c.known.parameters(operator)
	if own != nil && (slices.Contains(steeringKeys, "_"+key) || key == "timeout" && slices.Contains(own, "sandbox")) {
		return false // reported with other misspelled parameters
	}
	hint := ""
	if c.isForeign(keys.ForeignName(key), config.Value(key)) {
		hint = c.foreignHint(operator, key)
	}
	if hint == "" && c.takesNoOthers(operator) && param.Nearest(key, own) == "" {
		hint = "`zerodag operators " + operator + "` lists its parameters; define your own variables in _export"
	}
	if hint == "" {
		return false
	}
	c.warn(place, task, hint, "%s is ignored by %s>", key, operator)
	return true
}

// mayTake reports whether an operator may use a key that is not one of its parameters.
func mayTake(operator, key string) bool {
	return slices.Contains(takesAnyKey, operator) || operator == "require" && key == "ignore_failure" || strings.Contains(key, "${") || strings.HasSuffix(key, ">")
}

// takesNoOthers reports whether all parameters of an operator are known, and its task runs neither a command nor other
// tasks.
func (c *critic) takesNoOthers(operator string) bool {
	own := c.known.parameters(operator)
	return (operator == "echo" || operator == "fail" || len(own) > 0) && !c.runsCommand(operator) && !slices.Contains(keys.WithBodies, operator) && operator != "switch"
}

// taskNamedAsKey warns about a task whose name is a task keyword: `+_error` runs like any other task.
func (c *critic) taskNamedAsKey(place []string, task, name string) {
	key := strings.TrimPrefix(name, "+")
	if slices.Contains(keys.TaskKeys(), key) || strings.HasPrefix(key, "_") && slices.Contains(keys.Added(keys.AtGroup|keys.AtTask), key) {
		hint := "did you mean " + key + "?"
		if c.level == 0 && keys.Ungated(key) != "" {
			hint += " " + keys.GateHint(key)
		}
		c.warn(place, task, hint, "%s is an ordinary task, which runs in file order", name)
	}
}
