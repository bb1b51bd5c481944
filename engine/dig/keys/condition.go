package keys

import (
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func conditionKey() Key {
	return Key{
		Name: "_if", Where: AtTop | AtGroup | AtTask,
		Doc:   "whether the task and everything below it run",
		Check: checkIf, Own: true,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"boolean", "number", "string", "null"}}
		},
		Prepare: func(v param.Value, to *Prepared) error {
			on, err := param.AsCondition("_if", v)
			if err == nil && !on {
				to.Skip = "_if is " + param.Text(v)
			}
			return err
		},
	}
}

// checkIf requires a value that can be true or false.
func checkIf(key string, v param.Value, report rule.Report) {
	const form = "write an expression, such as `_if: ${session_date > '2026-01-01'}`"
	switch x := v.(type) {
	case *param.Map, []param.Value:
		report(nil, "'"+key+"' must be a condition: "+param.Sample(v), form)
	case string:
		hint := form
		if strings.Contains(x, "${") {
			hint = "${ is never closed, so it is not expanded: " + BracesHint
		}
		if _, err := param.AsCondition(key, v); err != nil && !Computed(x) {
			report(nil, "'"+key+"' is neither true nor false: "+param.Sample(v), hint)
		}
	}
}
