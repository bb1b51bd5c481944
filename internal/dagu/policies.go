package dagu

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// policies are the keys about errors, time and repetition.
func (s *step) policies(task *param.Map) {
	s.only(s.Map.Map("retry_policy"), "limit", "interval_sec", "backoff", "max_interval_sec", "exit_code")
	s.only(s.Map.Map("repeat_policy"), "repeat", "limit", "interval_sec", "backoff", "max_interval_sec", "condition", "expected", "exit_code")
	s.only(s.Map.Map("continue_on"), "failure", "failed", "skipped", "exit_code", "output", "mark_success")
	if n := s.whole(s.Map, "timeout_sec"); n > 0 {
		task.Set("_timeout", strconv.FormatInt(n, 10)+"s")
	}
	if m := s.Map.Map("retry_policy"); m != nil {
		task.Set("_retry", s.retry(m, keys.OperatorOf(task)))
	}
	if r := s.repeat(keys.OperatorOf(task)); r != nil {
		task.Set("_repeat", r)
	}
	if v := s.ignored(keys.OperatorOf(task)); v != nil {
		task.Set("_ignore_error", v)
		if !s.marksSuccess() && !s.endsRun() {
			s.note(s.Map, "continue_on", "`zerodag run` and the server show how many errors were ignored", false, "a run in which step %s fails succeeds here; in Dagu it partially succeeds, or fails if no step succeeded", s.called)
		}
	}
}

// retry is the policy of a step that became a task with an operator, or of the whole workflow, which has none.
func (w *workflow) retry(m *param.Map, operator string) param.Value {
	limit, interval := w.whole(m, "limit"), w.whole(m, "interval_sec")
	if limit < 0 {
		w.lost(m, "limit", "write how often it is tried again", "there is no limit of %d", limit)
		limit = 0
	}
	r := param.New("limit", limit)
	if interval > 0 {
		r.Set("interval", interval)
	}
	w.backoff(m, r)
	switch codes, there := m.Get("exit_code"); {
	case there && keys.FailsWithCode(operator) && failureCodes(codes) == nil:
		return int64(0) // no failure has one of these codes
	case there && keys.FailsWithCode(operator):
		r.Set("exit_code", failureCodes(codes))
	case there:
		w.lost(m, "exit_code", "let the command that fails decide whether it is tried again", "there is no command here whose exit code could be looked at")
	}
	if r.Len() == 1 {
		return limit
	}
	return r
}

// failureCodes returns the exit codes that a failed command can have, which 0 and 503 are not; nil if none is left.
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

// codesOf are exit codes as a list, or a number where there is one.
func codesOf(v param.Value) param.Value {
	if list, isList := v.([]param.Value); isList && len(list) == 1 {
		return list[0]
	}
	return v
}

// doubling is the factor of an exponential interval that says none.
const doubling = 2

func (w *workflow) backoff(m, r *param.Map) {
	v, _ := m.Get("backoff")
	factor, err := strconv.ParseFloat(textOf(v), 64)
	switch {
	case v == true:
		factor = doubling
	case v == nil || v == false || err == nil && factor == 0:
		return
	case err != nil || factor < 1 || factor > 100:
		w.lost(m, "backoff", "write a `factor` from 1 to 100", "a factor of %s is not possible", textOf(v))
		factor = doubling
	}
	r.Set("interval_type", "exponential")
	switch whole := int64(factor); {
	case factor == doubling: // which need not be written
	case float64(whole) == factor:
		r.Set("factor", whole)
	default:
		r.Set("factor", factor)
	}
	if n := w.whole(m, "max_interval_sec"); n > 0 {
		r.Set("max_interval", n)
	}
}

// repetition is the condition under which a step runs again.
type repetition struct {
	until     bool
	condition string // a text or, without expected, a command; "" for none
	expected  string
	codes     []string // exit codes
	always    bool
}

// repetition returns the condition of a step; nil for none. Without `repeat`, the other keys imply it.
func (s *step) repetition() *repetition {
	m := s.Map.Map("repeat_policy")
	word := text1(m, "repeat")
	if m == nil || word == "false" {
		return nil
	}
	codes, _ := m.Get("exit_code")
	r := &repetition{until: word == "until", condition: text1(m, "condition"), expected: text1(m, "expected"), codes: textsOf(codes)}
	switch {
	case word != "" && word != "until" && word != "while" && word != "true":
		s.refuse(m, "repeat", "write while or until", "repeat is neither while nor until: %s", word)
	case r.condition == "" && len(r.codes) == 0 && word == "":
		return nil
	case word == "" && r.condition != "" && r.expected != "":
		r.until = true
	case r.condition == "" && len(r.codes) == 0 && r.until:
		r.codes = []string{"0"}
	case r.condition == "" && len(r.codes) == 0:
		r.always = true
	}
	return r
}

// asked reports whether the command must store the decision, and under which name.
func (r *repetition) asked(s *step) (name string, yes bool) {
	if r == nil {
		return "", false
	}
	_, isCommand := s.asCommand(r.condition)
	byCode := r.condition == "" && len(r.codes) > 0 && !r.untilSuccess()
	return variable(s.name) + "_again", byCode || r.condition != "" && (r.expected == "" || isCommand)
}

// untilSuccess reports whether the step runs until its command succeeds, which `exit_code: 0` of `_repeat` does.
func (r *repetition) untilSuccess() bool {
	return r.until && r.condition == "" && slices.Equal(r.codes, []string{"0"})
}

// matches reports whether the output of a command must match a pattern, which an expression decides.
func (r *repetition) matches() bool { return strings.HasPrefix(r.expected, "re:") }

// asCommand returns the command of a text whose output is compared; today's Dagu compares the text itself.
func (s *step) asCommand(text string) (string, bool) {
	if s.today {
		return "", false
	}
	return asCommand(text)
}

// asking returns a command that stores whether it runs again. Dagu decides that without regard to a failure of the command: only the
// last run may fail.
func (s *step) asking(text string, p program) string {
	r := s.repetition()
	name, yes := r.asked(s)
	if !yes {
		return text
	}
	text = strings.TrimSuffix(text, "\n") + "\n"
	met, unmet := "again=yes", "again=no"
	if r.until {
		met, unmet = unmet, met
	}
	decision := "case $code in " + strings.Join(r.codes, "|") + ") " + met + " ;; *) " + unmet + " ;; esac\n"
	if r.condition != "" {
		shell, isCommand := s.asCommand(r.condition)
		if !isCommand {
			shell = r.condition
		}
		found := s.command(s.Map.Map("repeat_policy"), "condition", strings.TrimSpace(shell), shellReader)
		switch {
		case r.matches():
			return text + "again=$(" + found + ") || true\necho \"" + name + "=$again\" >> \"$DIGDAG_STORE\"\n"
		case r.expected != "":
			found = "[ \"$(" + found + ")\" = " + literal(shellWord(r.expected)) + " ]"
		}
		decision = "if (\n" + found + "\n) >&2; then " + met + "; else " + unmet + "; fi\n"
	}
	stops := ""
	if p.stops {
		stops = "set -e\n"
	}
	last := ""
	if n := s.whole(s.Map.Map("repeat_policy"), "limit"); n > 0 {
		last = " && [ \"$DIGDAG_TRY\" -lt " + strconv.FormatInt(n, 10) + " ]"
	}
	return "set +e\n(\n" + stops + text + ")\ncode=$?\n" + decision + "echo \"" + name + "=$again\" >> \"$DIGDAG_STORE\"\n[ $again = yes ]" + last + " || exit $code\n"
}

// repeat returns the `_repeat` of a task with an operator; nil for none.
func (s *step) repeat(operator string) *param.Map {
	m, is := s.Map.Map("repeat_policy"), s.repetition()
	if is == nil {
		return nil
	}
	r := param.New()
	word := "while"
	if is.until {
		word = "until"
	}
	name, asks := is.asked(s)
	switch {
	case (asks || len(is.codes) > 0) && keys.RunsNoCommand(operator):
		s.refuse(s.Map, "repeat_policy", "write `_retry`, which repeats what fails", "%s> has no exit code and no command that could end the repetition", operator)
	case asks && is.matches():
		r.Set(word, "${"+s.fits(m, name, is.expected, true)+"}")
		s.endsWithFailure()
	case asks:
		r.Set("while", "${"+name+" == 'yes'}")
	case is.condition != "":
		r.Set(word, "${"+s.fits(m, s.script(m, "condition", is.condition), is.expected, s.severalLines(is.condition))+"}")
		s.endsWithFailure()
	case is.untilSuccess():
		r.Set("exit_code", int64(0))
	default:
		r.Set("while", "${true}")
	}
	if !m.Has("limit") {
		s.note(m, "repeat", "write a `limit`", is.always, "a step that runs again and again fails after 1,000 runs")
	}
	if s.Has("retry_policy") {
		s.refuse(m, "repeat", "keep one of the two", "a step with both repeat_policy and retry_policy is not taken over")
	}
	if n := s.whole(m, "interval_sec"); n > 0 {
		r.Set("interval", n)
	}
	s.backoff(m, r)
	if n := s.whole(m, "limit"); n > 0 {
		r.Set("limit", n)
		if !is.untilSuccess() { // the command fails by itself
			r.Set("on_limit", "succeed")
		}
	}
	return r
}

// endsWithFailure notes that a failure ends a repetition that an expression decides.
func (s *step) endsWithFailure() {
	s.note(s.Map, "repeat_policy", "let the command succeed", false, "a failure of its command ends the repetition of step %s, which Dagu continues", s.called)
}

// ignores reports whether a failure of the step may be ignored.
func (s *step) ignores() bool {
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	return s.continues("failed") || m.Has("exit_code") || m.Has("output")
}

// endsRun reports whether an ignored failure of the step ends the run with an error, after all steps and the handler of success: in Dagu such
// a run partially succeeds, with exit code 1. A last task does so, unless something else would take it for the failure of the workflow: a
// retry of the whole, a failure handler at the top, or an exit handler that uses the status.
func (s *step) endsRun() bool {
	switch on := s.workflow.Map.Map("handler_on"); {
	case s.marksSuccess(), s.handles != "", s.within != nil, s.workflow.Map.Has("retry_policy"):
		return false
	case on.Has("failure") && s.workflow.Map.Has("timeout_sec"):
		return false
	case on.Has("exit"):
		exit, _ := on.Get("exit")
		return !status().MatchString(param.Text(exit))
	}
	return true
}

var status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`DAG_RUN_STATUS|run\.status`) })

// ignoring returns the condition that a step failed with an error that was ignored; "" if no step can end the run so.
func (w *workflow) ignoring(steps []*step) string {
	var all []string
	for _, s := range flattened(steps) {
		if s.refusal == "" && s.ignores() && s.endsRun() {
			all = append(all, s.hasFailed())
		}
	}
	return strings.Join(all, " || ")
}

// noSuccess returns the condition that every step failed, which fails the run in Dagu although all errors were ignored; "" if a step succeeds
// in each run that continues, or if it depends on conditions.
func (w *workflow) noSuccess(steps []*step) string {
	var all []string
	for _, s := range flattened(steps) {
		if s.refusal != "" || !s.ignores() || !s.endsRun() || s.condition() != "" {
			return ""
		}
		all = append(all, s.hasFailed())
	}
	return strings.Join(all, " && ")
}

// hasFailed returns the condition that the step failed with an error that was ignored.
func (s *step) hasFailed() string {
	switch code := s.values[s.id+".exit_code"]; {
	case code.kind == ofOutput:
		return "(this." + code.as + " || 0) != 0"
	case len(s.checks) > 0:
		return "!!failed.run"
	case !identifier().MatchString(s.name):
		return "!!failed[" + quotedScript(s.name) + "]"
	}
	return "!!failed." + s.name
}

// partly returns the task that fails after an error that was ignored. It does nothing in a called workflow, after which the caller continues.
func (w *workflow) partly(condition string) *param.Map {
	return param.New("_if", "${task_name.split('+').length == 3 && ("+condition+")}",
		"fail>", "a step failed, and continue_on ignored it: as in Dagu, the run ends with exit code 1")
}

// ignored returns the `_ignore_error` for `continue_on`; nil for none. operator is that of the task, or "" for a group.
func (s *step) ignored(operator string) param.Value {
	if s.continues("failed") {
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
	if list := texts(m, "output"); len(list) > 0 {
		out.Set("output", oneOf(list))
	}
	for _, key := range keys.NeverIgnored(operator) {
		if out.Has(key) {
			s.refuse(m, key, "write `message` into `_ignore_error`, with a part of the error's message", "%s is that of a command, and there is none here", key)
			out.Delete(key)
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out
}

// oneOf returns a text that a line of output contains, or a regular expression between slashes for several and for "re:...".
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
func (s *step) marksSuccess() bool {
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	on, _ := m.Get("mark_success")
	retry := s.Map.Map("retry_policy")
	return on == true && !retry.Has("exit_code") // of a failure that is not tried again, Dagu does not ignore the code
}
