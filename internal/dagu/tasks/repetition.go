package tasks

import (
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// repetition is the condition under which a step runs again.
type repetition struct {
	until     bool
	condition string // a string or, if expected is empty, a command; "" for none
	expected  string
	codes     []string // exit codes
	always    bool
}

// repetition returns a step's repetition condition; nil for none. Without `repeat`, the other keys imply it.
func (s *Step) repetition() *repetition {
	m := s.Map.Map("repeat_policy")
	word := document.Text(m, "repeat")
	if m == nil || word == "false" {
		return nil
	}
	codes, _ := m.Get("exit_code")
	r := &repetition{until: word == "until", condition: document.Text(m, "condition"),
		expected: document.Text(m, "expected"), codes: document.TextsOf(codes)}
	bare := r.condition == "" && len(r.codes) == 0
	switch {
	case !slices.Contains([]string{"", "until", "while", "true"}, word):
		s.Refuse(m, "repeat", "write while or until", "repeat is neither while nor until: %s", word)
	case bare && word == "":
		return nil
	case bare && r.until:
		r.codes = []string{"0"}
	case bare:
		r.always = true
	case word == "" && r.condition != "" && r.expected != "":
		r.until = true
	}
	return r
}

// asked reports whether the command must store the decision, and returns the name of the stored value.
func (r *repetition) asked(s *Step) (name string, yes bool) {
	if r == nil {
		return "", false
	}
	_, isCommand := s.asCommand(r.condition)
	byCode := r.condition == "" && len(r.codes) > 0 && !r.untilSuccess()
	return document.Variable(s.Name) + "_again", byCode || r.condition != "" && (r.expected == "" || isCommand)
}

// untilSuccess reports whether the step runs until its command succeeds, as `exit_code: 0` of `_repeat` does.
func (r *repetition) untilSuccess() bool {
	return r.until && r.condition == "" && slices.Equal(r.codes, []string{"0"})
}

// matches reports whether a command's output must match a pattern, which an expression then decides.
func (r *repetition) matches() bool { return strings.HasPrefix(r.expected, "re:") }

// asCommand returns the command in a string whose output is compared; today's Dagu compares the string itself.
func (s *Step) asCommand(text string) (string, bool) {
	if s.Today {
		return "", false
	}
	return references.AsCommand(text)
}

// asking returns a command that stores whether it must run again. Dagu makes that decision whether or not the command
// failed: only the last run may fail.
func (s *Step) asking(text string, p Program) string {
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
		found := s.Command(s.Map.Map("repeat_policy"), "condition", strings.TrimSpace(shell), references.ShellReader)
		switch {
		case r.matches():
			return text + "again=$(" + found + ") || true\necho \"" + name + "=$again\" >> \"$ZERODAG_STORE\"\n"
		case r.expected != "":
			found = "[ \"$(" + found + ")\" = " + references.Literal(references.ShellWord(r.expected)) + " ]"
		}
		decision = "if (\n" + found + "\n) >&2; then " + met + "; else " + unmet + "; fi\n"
	}
	stops := ""
	if p.Stops {
		stops = "set -e\n"
	}
	last := ""
	if n := s.Whole(s.Map.Map("repeat_policy"), "limit"); n > 0 {
		last = " && [ \"$ZERODAG_TRY\" -lt " + strconv.FormatInt(n, 10) + " ]"
	}
	return "set +e\n(\n" + stops + text + ")\ncode=$?\n" + decision + "echo \"" + name +
		"=$again\" >> \"$ZERODAG_STORE\"\n[ $again = yes ]" + last + " || exit $code\n"
}

// repeat returns the `_repeat` of a task with an operator; nil for none.
func (s *Step) repeat(operator string) *param.Map {
	m, is := s.Map.Map("repeat_policy"), s.repetition()
	if is == nil {
		return nil
	}
	r := param.New()
	s.repeats(r, m, is, operator)
	if !m.Has("limit") {
		s.Note(m, "repeat", "write a `limit`", is.always, "a repeating step fails after 1,000 runs")
	}
	if s.Has("retry_policy") {
		s.Refuse(m, "repeat", "keep one of the two", "a step with both repeat_policy and retry_policy is not translated")
	}
	if n := s.Whole(m, "interval_sec"); n > 0 {
		r.Set("interval", n)
	}
	backoff(s.Document, m, r)
	if n := s.Whole(m, "limit"); n > 0 {
		r.Set("limit", n)
		if !is.untilSuccess() { // the command itself fails
			r.Set("on_limit", "succeed")
		}
	}
	return r
}

// repeats sets the condition of a `_repeat` under which a task with an operator runs again, or until which it does.
func (s *Step) repeats(r, m *param.Map, is *repetition, operator string) {
	word := "while"
	if is.until {
		word = "until"
	}
	name, asks := is.asked(s)
	switch {
	case (asks || len(is.codes) > 0) && keys.RunsNoCommand(operator):
		s.Refuse(s.Map, "repeat_policy", "write `_retry`, which repeats failed tasks",
			"%s> has no exit code and no command that could end the repetition", operator)
	case asks && is.matches():
		r.Set(word, "${"+s.Fits(m, name, is.expected, true)+"}")
		s.endsWithFailure()
	case asks:
		r.Set("while", "${"+name+" == 'yes'}")
	case is.condition != "":
		r.Set(word, "${"+s.Fits(m, s.Script(m, "condition", is.condition), is.expected, s.SeveralLines(is.condition))+"}")
		s.endsWithFailure()
	case is.untilSuccess():
		r.Set("exit_code", int64(0))
	default:
		r.Set("while", "${true}")
	}
}

// endsWithFailure adds a note that a failure ends a repetition whose condition is an expression.
func (s *Step) endsWithFailure() {
	s.Note(s.Map, "repeat_policy", "let the command succeed", false,
		"a failure of its command ends the repetition of step %s, which Dagu continues", s.Called)
}
