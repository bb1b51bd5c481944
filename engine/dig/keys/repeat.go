package keys

import (
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Repeat is `_repeat`: how often, and until when, a task that has succeeded runs again.
type Repeat struct {
	Until, While param.Value // expressions, unevaluated; nil for none
	ExitCodes    []int64     // exit codes that mean that the command is done; nil for none
	Policy       *param.Map  // limit, interval, interval_type, max_interval, factor and jitter, as in `_retry`
	Succeed      bool        // a task that reaches the limit succeeds
}

// repeatLimit is the default for the maximum number of runs of a task.
const repeatLimit = 1000

const repeatForm = "write `_repeat: {until: \"${status == 'ready'}\", interval: 60}`, or use while or exit_code instead of until"

func repeatKey() Key {
	return Key{
		Name: "_repeat", Where: AtTask,
		Doc:   "the task runs again until a condition is met",
		Check: checkRepeat,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": "object"}
		},
	}
}

// ParseRepeat reads `_repeat`.
func ParseRepeat(v param.Value) (Repeat, error) {
	fault := ""
	r := readRepeat(v, func(_ []string, message, _ string) {
		if fault == "" {
			fault = message
		}
	})
	if fault != "" {
		return Repeat{}, param.Errorf("_repeat: %s", fault)
	}
	return r, nil
}

func checkRepeat(_ string, v param.Value, report rule.Report) {
	readRepeat(v, report)
}

// checkEnd checks the condition of `until` or `while`.
func checkEnd(key string, v param.Value, report rule.Report) {
	at := []string{key}
	checkIf("_repeat."+key, v, func(_ []string, message, hint string) {
		report(at, message, strings.ReplaceAll(hint, "`_if: ${session_date > '2026-01-01'}`", "`"+key+": ${rows == 0}`"))
	})
	if text, isText := v.(string); !isText || !strings.Contains(text, "${") {
		report(at, key+" of _repeat never changes: "+param.Sample(v), repeatForm)
	}
}

// checkWord checks that a value is one of two words.
func checkWord(key string, v param.Value, report rule.Report, one, other string) {
	if v != one && v != other {
		report([]string{key}, "unknown "+key+" "+param.Sample(v), "write "+one+" or "+other)
	}
}

// checkLeast checks a number of iterations or seconds.
func checkLeast(key string, v param.Value, least int64, report rule.Report) {
	if n, err := param.AsWhole(key, v); err != nil || rule.IsText(v) || n < least {
		report([]string{key}, key+" of _repeat must be a whole number, at least "+param.Text(least)+": "+param.Sample(v), repeatForm)
	}
}

func readRepeat(v param.Value, report rule.Report) Repeat {
	r := Repeat{Policy: param.New("limit", int64(repeatLimit))}
	m, ok := v.(*param.Map)
	if !ok {
		report(nil, "'_repeat' needs a condition to stop: "+param.Sample(v), repeatForm)
		return r
	}
	ends := 0
	for key, v := range m.All() {
		at := []string{key}
		switch key {
		case "until", "while":
			ends++
			checkEnd(key, v, report)
			if key == "until" {
				r.Until = v
			} else {
				r.While = v
			}
		case ExitCodeKey:
			ends++
			var ok bool
			if r.ExitCodes, ok = exitCodes(v, 0); !ok {
				report(at, "exit_code must be a whole number from 0 to 255, or a list of them: "+param.Sample(v), repeatForm)
			}
		case "limit":
			checkLeast(key, v, 1, report)
			r.Policy.Set(key, v)
		case "interval", "max_interval":
			checkLeast(key, v, 0, report)
			r.Policy.Set(key, v)
		case "interval_type":
			checkWord(key, v, report, "constant", "exponential")
			r.Policy.Set(key, v)
		case "factor", "jitter": // read below
			r.Policy.Set(key, v)
		case "on_limit":
			r.Succeed = v == "succeed"
			checkWord(key, v, report, "fail", "succeed")
		default:
			report(at, "unknown key '"+key+"' of _repeat", "valid keys are until, while or exit_code, and limit, interval, interval_type, max_interval, factor, jitter and on_limit")
		}
	}
	readAddedRetry("_repeat", m.Without(ExitCodeKey), false, report)
	if ends != 1 {
		report(nil, "'_repeat' must have exactly one of until, while and exit_code", repeatForm)
	}
	return r
}
