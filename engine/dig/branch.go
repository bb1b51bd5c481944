package dig

import (
	"fmt"

	"zerodag/engine/param"
)

// BranchKeys are the keys of `switch>` that hold tasks: those of each case, and those of none.
func BranchKeys() []string { return []string{"_cases", "_default"} }

const casesForm = "write the tasks of each case below it: `_cases: {JP: {+a: {...}}, /^U/: {+b: {...}}}`"

// branches compiles the tasks of a `switch>` only to find their mistakes now: which of them run is known when it does.
func (c *compiler) branches(index int, config *param.Map) {
	if OperatorOf(config) != "switch" {
		return
	}
	cases, ok := valueOf(config, "_cases").(*param.Map)
	if !ok && c.language.Level == 0 {
		return // an old file may mean an operator of a plugin, which is missing when it runs
	}
	caseFaults(config, func(path []string, message, hint string) {
		c.fail(index, path, hint, "%s", message)
	})
	if !canBeTasks(valueOf(config, "_default")) {
		c.fail(index, []string{"_default"}, "write tasks: `_default: {+c: {...}}`", "Parameter '_default' must be an object")
	}
	for name := range cases.All() {
		c.branch(index, []string{"_cases", name}, cases.Map(name))
	}
	c.branch(index, []string{"_default"}, config.Map("_default"))
}

func (c *compiler) branch(index int, key []string, tasks *param.Map) {
	if tasks.Len() > 0 {
		c.inner(index, key, "^sub", tasks)
	}
}

// caseFaults reports the cases that a `switch>` cannot choose from. None are computed: `${...}` of them is evaluated when they are run.
func caseFaults(config *param.Map, report func(path []string, message, hint string)) {
	cases, ok := valueOf(config, "_cases").(*param.Map)
	if !ok {
		_, key, _ := operatorOf(config)
		if config.Has("_cases") {
			key = "_cases"
		}
		report([]string{key}, "switch> needs the tasks of its cases below '_cases'", casesForm)
	}
	for name, v := range cases.All() {
		if _, err := param.ParsePattern(name); err != nil {
			report([]string{"_cases", name}, fmt.Sprintf("The case '%s' is no regular expression: %v", name, err), expressionHint)
		}
		if !canBeTasks(v) {
			report([]string{"_cases", name}, "Parameter '"+name+"' must be an object", casesForm)
		}
	}
}

// canBeTasks says whether a value is a mapping, or nothing.
func canBeTasks(v param.Value) bool {
	_, ok := v.(*param.Map)
	return ok || v == nil
}
