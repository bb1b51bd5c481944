package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func failFastKey() Key {
	return Key{
		Name: "_fail_fast", Where: AtTop | AtGroup | AtTask,
		Doc:   "the first failure in a group or a loop ends its other tasks",
		Check: checkYes,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"enum": []any{true, false, "true", "false"}}
		},
	}
}

// checkYes requires true or false, as written.
func checkYes(key string, v param.Value, report rule.Report) {
	if _, err := param.AsYes(key, v); err != nil {
		report(nil, "'"+key+"' must be true or false: "+param.Sample(v), "write true or false; ${...} is not evaluated here")
	}
}
