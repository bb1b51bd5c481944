package tasks

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// Policies translates the keys for errors, time limits and repetition.
func (s *Step) Policies(task *param.Map) {
	s.Only(s.Map.Map("retry_policy"), "limit", "interval_sec", "backoff", "max_interval_sec", "exit_code")
	s.Only(s.Map.Map("repeat_policy"), "repeat", "limit", "interval_sec", "backoff", "max_interval_sec", "condition",
		"expected", "exit_code")
	s.Only(s.Map.Map("continue_on"), "failure", "failed", "skipped", "exit_code", "output", "mark_success")
	if n := s.Whole(s.Map, "timeout_sec"); n > 0 {
		task.Set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	if m := s.Map.Map("retry_policy"); m != nil {
		task.Set("_retry", Retry(s.Document, m, keys.OperatorOf(task)))
	}
	if r := s.repeat(keys.OperatorOf(task)); r != nil {
		task.Set("_repeat", r)
	}
	if v := s.ignored(keys.OperatorOf(task)); v != nil {
		task.Set("_ignore_error", v)
		if !s.marksSuccess() && !s.EndsRun() {
			s.Note(s.Map, "continue_on", "`zerodag run` and the server show how many errors were ignored", false,
				"a run whose step %s fails succeeds here; in Dagu it partially succeeds, or fails if no step succeeded",
				s.Called)
		}
	}
}

// Retry returns the retry policy of a step that became a task with an operator, or of the whole workflow, which has no
// operator.
func Retry(d *document.Document, m *param.Map, operator string) param.Value {
	limit, interval := d.Whole(m, "limit"), d.Whole(m, "interval_sec")
	if limit < 0 {
		d.Lost(m, "limit", "write the number of retries", "invalid limit: %d", limit)
		limit = 0
	}
	r := param.New("limit", limit)
	if interval > 0 {
		r.Set("interval", interval)
	}
	backoff(d, m, r)
	switch codes, there := m.Get("exit_code"); {
	case there && keys.FailsWithCode(operator) && failureCodes(codes) == nil:
		return int64(0) // failures never have one of these codes
	case there && keys.FailsWithCode(operator):
		r.Set("exit_code", failureCodes(codes))
	case there:
		d.Lost(m, "exit_code", "let the failing command decide whether it is retried",
			"there is no command whose exit code could be checked")
	}
	if r.Len() == 1 {
		return limit
	}
	return r
}

// failureCodes returns the given exit codes without 0 and 503, which a failed command cannot have; nil if none are
// left.
func failureCodes(v param.Value) param.Value {
	var list []param.Value
	for _, code := range keys.ListOf(v) {
		if n, err := param.AsWhole("exit_code", code); err == nil && n > 0 && n <= 255 {
			list = append(list, n)
		}
	}
	if list == nil {
		return nil
	}
	return codesOf(list)
}

// codesOf returns exit codes as a list, or as a single number.
func codesOf(v param.Value) param.Value {
	if list, isList := v.([]param.Value); isList && len(list) == 1 {
		return list[0]
	}
	return v
}

// doubling is the default factor of an exponential interval.
const doubling = 2

func backoff(d *document.Document, m, r *param.Map) {
	v, _ := m.Get("backoff")
	factor, err := strconv.ParseFloat(document.TextOf(v), 64)
	switch {
	case v == true:
		factor = doubling
	case v == nil || v == false || err == nil && factor == 0:
		return
	case err != nil || factor < 1 || factor > 100:
		d.Lost(m, "backoff", "write a `factor` from 1 to 100", "a factor of %s is not allowed", document.TextOf(v))
		factor = doubling
	}
	r.Set("interval_type", "exponential")
	switch whole := int64(factor); {
	case factor == doubling: // the default can be omitted
	case float64(whole) == factor:
		r.Set("factor", whole)
	default:
		r.Set("factor", factor)
	}
	if n := d.Whole(m, "max_interval_sec"); n > 0 {
		r.Set("max_interval", n)
	}
}

// Ignores reports whether the step's failure may be ignored.
func (s *Step) Ignores() bool {
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	return s.Continues("failed") || m.Has("exit_code") || m.Has("output")
}

// EndsRun reports whether an ignored failure of the step ends the run with an error after all steps and the success
// handler: in Dagu, such a run partially succeeds, with exit code 1. A last task causes this error, unless something
// else would treat it as the failure of the workflow: a retry of the whole workflow, a failure handler at the top, or
// an exit handler that uses the status.
func (s *Step) EndsRun() bool {
	switch on := s.Document.Map.Map("handler_on"); {
	case s.marksSuccess(), s.Handles != "", s.Within != nil, s.Document.Map.Has("retry_policy"):
		return false
	case on.Has("failure") && s.Document.Map.Has("timeout_sec"):
		return false
	case on.Has("exit"):
		exit, _ := on.Get("exit")
		return !status().MatchString(param.Text(exit))
	}
	return true
}

var status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`DAG_RUN_STATUS|run\.status`) })

// HasFailed returns the condition under which the step failed with an ignored error.
func (s *Step) HasFailed() string {
	switch code := s.Values[s.ID+".exit_code"]; {
	case code.Kind == references.OfOutput:
		return "(this." + code.As + " || 0) != 0"
	case len(s.Checks) > 0:
		return "!!failed.run"
	case !document.Identifier().MatchString(s.Name):
		return "!!failed[" + references.QuotedScript(s.Name) + "]"
	}
	return "!!failed." + s.Name
}

// ignored returns the `_ignore_error` for `continue_on`; nil for none. operator is the task's operator, or "" for a
// group.
func (s *Step) ignored(operator string) param.Value {
	if s.Continues("failed") {
		return true
	}
	v, _ := s.Get("continue_on")
	m, isMap := v.(*param.Map)
	if !isMap {
		return nil
	}
	out := param.New()
	if codes, _ := m.Get("exit_code"); failureCodes(codes) != nil {
		out.Set("exit_code", failureCodes(codes))
	}
	if list := document.Texts(m, "output"); len(list) > 0 {
		out.Set("output", oneOf(list))
	}
	for _, key := range keys.NeverIgnored(operator) {
		if out.Has(key) {
			s.Refuse(m, key, "write `message` in `_ignore_error`, with part of the error message",
				"%s is for commands, but there is none here", key)
			out.Delete(key)
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out
}

// oneOf returns a pattern for output lines: a string that the line contains or, for several strings and for "re:...", a
// regular expression between slashes.
func oneOf(list []string) string {
	patterns := make([]string, len(list))
	for i, text := range list {
		pattern, isPattern := strings.CutPrefix(text, "re:")
		if !isPattern && len(list) == 1 {
			return text
		}
		if !isPattern {
			pattern = regexp.QuoteMeta(text)
		}
		patterns[i] = pattern
	}
	return "/" + strings.Join(patterns, "|") + "/"
}

// marksSuccess reports whether Dagu also counts the failed step as succeeded.
func (s *Step) marksSuccess() bool {
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	on, _ := m.Get("mark_success")
	retry := s.Map.Map("retry_policy")
	return on == true && !retry.Has("exit_code") // Dagu does not ignore the exit code of a failure that is not retried
}
