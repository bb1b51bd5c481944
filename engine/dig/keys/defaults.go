package keys

import (
	"slices"
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// DefaultsKey is the key at the top of a file that holds keys for all the file's tasks that have an operator.
const DefaultsKey = "_defaults"

func defaultsKey() Key {
	return Key{
		Name: DefaultsKey, Where: AtTop,
		Doc:   "keys for all tasks of the file that have an operator",
		Check: CheckDefaults,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"object", "null", "string"}}
		},
	}
}

// DefaultableKeys returns the keys that `_defaults` may have: keys for how a task is run, not for its work.
func DefaultableKeys() []string {
	keys := []string{"_retry", "_error", "_check", "_env", "_workdir", "_secrets"}
	for _, k := range All() {
		if k.Where&AtTask != 0 && !k.Own {
			keys = append(keys, k.Name)
		}
	}
	return keys
}

// CheckDefaults requires keys that a task with an operator may have. Mistakes in their values are reported here, not
// again at each task.
func CheckDefaults(key string, v param.Value, report rule.Report) {
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "Parameter '"+key+"' must be an object", "write keys of tasks: `_defaults: {_retry: 2}`")
		return
	}
	for k, v := range m.All() {
		a, isAdded := Find(k)
		switch {
		case !slices.Contains(DefaultableKeys(), k):
			hint := "valid keys are " + strings.Join(DefaultableKeys(), ", ")
			if strings.HasSuffix(k, ">") || !strings.HasPrefix(k, "_") {
				hint = "default parameters of an operator belong under _export, below its name"
			} else if s := param.DidYouMean(k, DefaultableKeys()); s != "" {
				hint = s
			}
			report([]string{k}, "'"+k+"' cannot be a default for tasks", hint)
		case k != "_retry" && k != "_workdir" && !isAdded && !isMap(v):
			report([]string{k}, "Parameter '"+k+"' must be an object", "write it as in a task: keys and values below it")
		case k == "_retry":
			CheckRetry(AnyOperator, v, func(below []string, message, hint string) {
				report(append([]string{k}, below...), message, hint)
			})
		case isAdded && a.Where&AtTask != 0:
			a.Check(k, v, func(below []string, message, hint string) {
				report(append([]string{k}, below...), message, hint)
			})
		}
	}
}

// AnyOperator stands for the operator of any task that gets a default.
const AnyOperator = "any"

func isMap(v param.Value) bool {
	_, ok := v.(*param.Map)
	return ok
}
