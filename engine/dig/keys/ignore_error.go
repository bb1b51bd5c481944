package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func ignoreErrorKey() Key {
	return Key{
		Name: "_ignore_error", Where: AtTop | AtGroup | AtTask,
		Doc:   "all errors, or errors of some kinds, count as success with a note",
		Check: checkIgnore,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"boolean", "string", "object"}}
		},
	}
}

// checkIgnore requires true or false, or conditions for an error.
func checkIgnore(key string, v param.Value, report rule.Report) {
	m, ok := v.(*param.Map)
	if !ok {
		checkYes(key, v, report)
		return
	}
	const form = "write `_ignore_error: true`, or {exit_code: [3, 4], message: part of it or /regular expression/, output: the same of a line that the command printed}"
	for k, v := range m.All() {
		switch k {
		case ExitCodeKey:
			if _, ok := exitCodes(v, 1); !ok {
				report([]string{k}, "exit_code must be a whole number from 1 to 255, or a list of them: "+param.Sample(v), form)
			}
		case "message", "output":
			text, ok := v.(string)
			_, err := param.ParsePattern(text)
			switch {
			case !ok || text == "":
				report([]string{k}, k+" must be a text: "+param.Sample(v), form)
			case err != nil:
				report([]string{k}, k+" is no regular expression: "+err.Error(), rule.ExpressionHint)
			}
		default:
			report([]string{k}, "'"+k+"' is not read by anybody", form)
		}
	}
	if m.Len() == 0 {
		report(nil, "'_ignore_error' names no error", form)
	}
}
