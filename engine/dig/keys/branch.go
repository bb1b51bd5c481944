package keys

import (
	"fmt"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// BranchKeys returns the keys of `switch>` that hold tasks: of its cases, and of the default.
func BranchKeys() []string { return []string{"_cases", "_default"} }

const casesForm = "write the tasks of each case below it: `_cases: {JP: {+a: {...}}, /^U/: {+b: {...}}}`"

// CaseFaults reports cases that a `switch>` cannot choose from. The cases are not computed: `${...}` in them is
// evaluated when they run.
func CaseFaults(config *param.Map, report func(path []string, message, hint string)) {
	cases, ok := config.Value("_cases").(*param.Map)
	if !ok {
		_, key, _ := Operator(config)
		if config.Has("_cases") {
			key = "_cases"
		}
		report([]string{key}, "switch> needs '_cases' with the tasks of each case", casesForm)
	}
	for name, v := range cases.All() {
		if _, err := param.ParsePattern(name); err != nil {
			report([]string{"_cases", name}, fmt.Sprintf("The case '%s' is not a valid regular expression: %v", name, err), rule.ExpressionHint(err))
		}
		if !CanBeTasks(v) {
			report([]string{"_cases", name}, "Parameter '"+name+"' must be an object", casesForm)
		}
	}
}

// CanBeTasks reports whether a value is a mapping or missing.
func CanBeTasks(v param.Value) bool {
	_, ok := v.(*param.Map)
	return ok || v == nil
}
