package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func cancelKey() Key { return closingKey("_cancel", "tasks that clean up after a kill") }

func finallyKey() Key { return closingKey("_finally", "tasks that run last, whatever the outcome") }

func closingKey(name, doc string) Key {
	return Key{
		Name: name, Where: AtTop | AtGroup | AtTask,
		Doc:   doc,
		Check: checkTasks,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"allOf": []any{rule.Schema{"$ref": "#/definitions/task"}}}
		},
	}
}

// checkTasks requires a task. Mistakes below it are reported by closings.
func checkTasks(key string, v param.Value, report rule.Report) {
	const form = "write it as a task: an operator, or subtasks"
	switch m, ok := v.(*param.Map); {
	case !ok:
		report(nil, "Parameter '"+key+"' must be an object", form)
	case m.Len() == 0:
		report(nil, "'"+key+"' contains no tasks", form)
	}
}

// Closing returns the keys of a task's cleanup tasks, which run last.
func Closing() []string { return []string{"_cancel", "_finally"} }
