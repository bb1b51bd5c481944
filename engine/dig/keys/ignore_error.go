package keys

import (
	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

func ignoreErrorKey() Key {
	return Key{
		Name: "_ignore_error", Where: AtTop | AtGroup | AtTask,
		Doc:   "errors, or certain kinds of errors, count as success and are recorded",
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
	const form = "write `_ignore_error: true`, or {exit_code: [3, 4], message: PART or /REGEXP/, output: PART or /REGEXP/ of a line that the command printed}"
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
				report([]string{k}, k+" must be a string: "+param.Sample(v), form)
			case err != nil:
				report([]string{k}, k+" is not a valid regular expression: "+err.Error(), rule.ExpressionHint(err))
			}
		default:
			report([]string{k}, "unknown key '"+k+"' of _ignore_error", form)
		}
	}
	if m.Len() == 0 {
		report(nil, "'_ignore_error' does not name an error", form)
	}
}
