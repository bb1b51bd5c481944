package keys

import (
	"slices"
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// ExitCodeKey is a key of `_retry`, `_repeat` and `_ignore_error` with exit codes of a command.
const ExitCodeKey = "exit_code"

// RetryKeys returns the keys of `_retry` if it is a mapping.
func RetryKeys() []string { return []string{"limit", "interval", "max_interval", "interval_type"} }

// AddedRetryKeys returns the additional keys in a file with `zerodag: 1`.
func AddedRetryKeys() []string { return []string{ExitCodeKey, "factor", "jitter"} }

// allRetryKeys returns both.
func allRetryKeys() []string { return append(RetryKeys(), AddedRetryKeys()...) }

// RetryNumbers returns the keys whose values are whole numbers of retries or seconds.
func RetryNumbers() []string { return []string{"limit", "interval", "max_interval"} }

// LacksLimit reports whether a `_retry` has no limit. An unknown key may be a misspelled limit.
func LacksLimit(m *param.Map) bool {
	known := allRetryKeys()
	return m.Value("limit") == nil && !slices.ContainsFunc(m.Keys(), func(key string) bool { return !slices.Contains(known, key) })
}

// AddedRetry holds the added keys of `_retry`.
type AddedRetry struct {
	ExitCodes []int64 // retry only after one of these failures; nil: after any failure
	Factor    float64 // by which an exponential interval grows; 0 if not set
	Jitter    float64 // the largest part by which an interval is reduced
}

// usualJitter is the jitter of `jitter: true`.
const usualJitter = 0.5

// ParseAddedRetry reads the added keys of an evaluated `_retry`, and applies to all of it the checks of a push: its
// values are known only now.
func ParseAddedRetry(v param.Value) (AddedRetry, error) {
	fault := ""
	r := readRetry(v, false, func(_ []string, message, _ string) {
		if fault == "" {
			fault = message
		}
	})
	if fault != "" {
		return AddedRetry{}, param.Errorf("%s", fault)
	}
	return r, nil
}

// readAddedRetry reads the added keys of `_retry`, or of another key that has them; if open, `${...}` may stand for
// anything.
func readAddedRetry(of string, m *param.Map, open bool, report rule.Report) (r AddedRetry) {
	for key, v := range m.All() {
		if open && Computed(param.Text(v)) {
			continue
		}
		ok, wanted, hint := true, "", ""
		switch key {
		case ExitCodeKey:
			r.ExitCodes, ok = exitCodes(v, 1)
			wanted, hint = "a whole number from 1 to 255, or a list of them", "write `exit_code: [75]`"
		case "factor":
			r.Factor, ok = asNumber(v, 1, 100)
			wanted, hint = "a number from 1 to 100", "write `factor: 1.5`"
		case "jitter":
			r.Jitter, ok = asJitter(v)
			wanted, hint = "true, false or a number from 0 to 1", "write `jitter: true`, or the largest fraction taken off a wait, such as `jitter: 0.3`"
		}
		if !ok {
			report([]string{key}, key+" of "+of+" must be "+wanted+": "+param.Sample(v), hint)
		}
	}
	kind, _ := m.Value("interval_type").(string)
	if m.Has("factor") && !strings.EqualFold(kind, "exponential") && !Computed(kind) {
		report([]string{"factor"}, "factor of "+of+" is only for exponential intervals", "add `interval_type: exponential`")
	}
	return r
}

// asNumber reads a number between two limits, even if an expression has turned it into text.
func asNumber(v param.Value, least, most float64) (float64, bool) {
	number, err := param.AsType("number", v)
	n, isFloat := number.(float64)
	if whole, isInt := number.(int64); isInt {
		n, isFloat = float64(whole), true
	}
	return n, err == nil && isFloat && least <= n && n <= most
}

func asJitter(v param.Value) (float64, bool) {
	if on, err := param.AsType("boolean", v); err == nil {
		if on == true {
			return usualJitter, true
		}
		return 0, true
	}
	return asNumber(v, 0, 1)
}

// exitCodes reads an exit code or a list of exit codes, none of which may be below least (0 or 1).
func exitCodes(v param.Value, least int64) (codes []int64, ok bool) {
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for _, v := range list {
		n, err := param.AsType("integer", v)
		code, isInt := n.(int64)
		if err != nil || !isInt || code < least || code > 255 {
			return nil, false
		}
		codes = append(codes, code)
	}
	return codes, len(codes) > 0
}

// CheckRetry checks `_retry` of a task with an operator, or of a group (""), in a file with `zerodag: 1`: an unknown
// key would be ignored silently, and a task with an invalid value fails.
func CheckRetry(operator string, v param.Value, report rule.Report) {
	group := operator == ""
	m, _ := v.(*param.Map)
	if group && m.Has(ExitCodeKey) { // all failures of a group are failures of tasks below it
		report([]string{ExitCodeKey}, "exit_code of _retry is for commands, but a group runs none", ofTasks)
		v = m.Without(ExitCodeKey)
	}
	open := !group && !OnlyRunsTasks(operator) // for failures of tasks below, nothing is evaluated
	readRetry(v, open, func(below []string, message, hint string) {
		if !open && strings.Contains(message, "${") {
			hint += "; ${...} is not evaluated here"
		}
		report(below, message, hint)
	})
}

// readRetry reads the added keys of a `_retry`, and reports mistakes in all of it; if open, `${...}` may stand for
// anything.
func readRetry(v param.Value, open bool, report rule.Report) AddedRetry {
	m, isMap := v.(*param.Map)
	if !isMap {
		if !isTries(v, open) {
			report(nil, "'_retry' must be a whole number, 0 or more, or a mapping: "+param.Sample(v), RetryForm)
		}
		return AddedRetry{}
	}
	known := allRetryKeys()
	for _, key := range m.Keys() {
		if !slices.Contains(known, key) {
			hint := "valid keys are " + strings.Join(known, ", ")
			if s := param.DidYouMean(key, known); s != "" {
				hint = s + " " + hint
			}
			report([]string{key}, "unknown key '"+key+"' of _retry", hint)
		}
	}
	for _, key := range RetryNumbers() {
		if x := m.Value(key); x != nil && !isTries(x, open) {
			report([]string{key}, key+" of _retry must be a whole number, 0 or more: "+param.Sample(x), RetryForm)
		}
	}
	if kind := m.Value("interval_type"); kind != nil && !IsIntervalType(kind, open) {
		report([]string{"interval_type"}, "interval_type of _retry cannot be "+param.Sample(kind), "write constant or exponential")
	}
	if LacksLimit(m) {
		report(nil, "_retry has no limit, so the task would fail", RetryForm)
	}
	return readAddedRetry("_retry", m, open, report)
}

// isTries reports whether a value is a number of retries or seconds; if open, `${...}` may evaluate to one.
func isTries(v param.Value, open bool) bool {
	text, isText := v.(string)
	if isText && open && Computed(text) {
		return true
	}
	n, err := param.AsWhole("_retry", v)
	return err == nil && n >= 0
}

// IsIntervalType reports whether a value is a kind of interval; if open, `${...}` may evaluate to one.
func IsIntervalType(v param.Value, open bool) bool {
	kind, isText := v.(string)
	return isText && (open && Computed(kind) || strings.EqualFold(kind, "constant") || strings.EqualFold(kind, "exponential"))
}

// RetryForm describes how to write _retry.
const RetryForm = "write a number, or {limit: 3, interval: 10} with the interval in seconds"
