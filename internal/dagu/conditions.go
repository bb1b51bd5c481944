package dagu

import (
	"fmt"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// join is a condition of two; either may be "".
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "", a == b, strings.HasPrefix(a, "("+b+") && "), strings.Contains(a, " && ("+b+")"):
		return a
	}
	return "(" + a + ") && (" + b + ")"
}

// condition is whether a step runs: its own one, and those of the steps that it waits for and that would have it skipped.
func (s *step) condition() string {
	if s.all != nil {
		return *s.all
	}
	all := ""
	s.all = &all
	for _, d := range s.depends {
		if !d.continues("skipped") && !d.Has("routed") {
			all = join(all, d.condition())
		}
	}
	s.before = all
	all = join(all, s.own)
	return all
}

// mayBeAbsent reports whether later steps may run without the values that this step stores.
func (s *step) mayBeAbsent() bool {
	return s.condition() != "" || s.Has("continue_on") || s.Has("parallel")
}

// conditions returns the preconditions of a workflow or a step as an expression, and the tasks that store the values in it. name is
// the prefix of these values.
func (w *workflow) conditions(m *param.Map, name string) (all string, checks []*param.Map) {
	v, _ := m.Get("preconditions")
	if v == nil {
		return "", nil
	}
	for i, e := range keys.ListOf(v) {
		one, check := w.precondition(m, e, unique(w.taken, fmt.Sprintf("%s_check%d", name, i+1)))
		if check != nil {
			if all != "" { // Dagu stops at the first condition that is not met
				check = param.Merge(param.New("_if", "${"+all+"}"), check)
			}
			checks = append(checks, check)
		}
		all = join(all, one)
	}
	return all, checks
}

// precondition returns one condition as an expression. If a command decides it, check is the task that runs the command and stores
// its result under the name stored.
func (w *workflow) precondition(m *param.Map, v param.Value, stored string) (one string, check *param.Map) {
	condition, expected, negate, evaluated := textOf(v), "", false, false
	if c, isMap := v.(*param.Map); isMap {
		for key := range c.All() {
			switch key {
			case "condition", "command", "eval":
				condition, evaluated = text1(c, key), key == "eval"
			case "expected":
				expected = text1(c, key)
			case "negate":
				on, _ := c.Get(key)
				negate = on == true
			default:
				w.refuse(c, key, "write the condition another way", "%s of a precondition is unknown", key)
			}
		}
	}
	if strings.TrimSpace(condition) == "" {
		w.refuse(m, "preconditions", "write a condition", "a precondition is empty")
		return "false", nil
	}
	shell, isCommand := asCommand(condition)
	dynamic := evaluated || !w.today // today's Dagu compares the text itself
	switch {
	case dynamic && expected != "" && hasCommand(condition):
		if !evaluated {
			w.note(m, "preconditions", "test the output of a step", false, "the command of a condition is run, as Dagu before 2.7 did")
		}
		if !isCommand {
			shell = w.echoed(m, "preconditions", condition)
		}
		text := "(\n" + w.command(m, "preconditions", shell, shellReader) + "\n)"
		if !evaluated { // the failure of an `eval` is that of the step
			text += " || true"
		}
		check, one = w.check(stored, text), w.fits(m, stored, expected, true)
	case expected != "" && !w.isPlain(condition): // a part of it needs a shell
		text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(condition)
		check, one = w.check(stored, "printf '%s\\n' \""+w.withinDoubleQuotes(m, "preconditions", text)+"\""), w.fits(m, stored, expected, true)
	case expected != "":
		one = w.fits(m, w.script(m, "preconditions", condition), expected, w.severalLines(condition))
	default:
		text := w.command(m, "preconditions", strings.TrimSpace(condition), shellReader)
		if isCommand && !w.today && strings.HasPrefix(condition, "`") {
			text = w.command(m, "preconditions", strings.TrimSpace(shell), shellReader)
		}
		check, one = w.check(stored, "if (\n"+text+"\n) >&2; then echo yes; else echo no; fi"), stored+" == 'yes'"
	}
	if negate {
		one = "!(" + one + ")"
	}
	return one, check
}

// echoed returns a command that prints a text after its commands have run.
func (w *workflow) echoed(m *param.Map, key, text string) string {
	text = backticks().ReplaceAllString(text, "$$($1)")
	if strings.Count(text, "$(") > 1 || strings.ContainsAny(text[:strings.Index(text, "$(")]+text[strings.LastIndex(text, ")")+1:], `"\`) {
		w.refuse(m, key, "let a step store the value, and compare that", "a command within a text is not taken over: %s", text)
	}
	return "text=\"" + text + "\" && printf '%s' \"$text\""
}

// check returns a task that stores the output of a command.
func (w *workflow) check(stored, command string) *param.Map {
	w.outside(w.Map, "container", "the command of a condition")
	before := strings.Join(w.exports, "")
	if w.current != nil {
		before = w.current.prelude()
	} else if folder := strings.TrimSpace(text1(w.Map, "working_dir")); folder != "" {
		before += w.into(w.Map, folder)
	}
	return param.New("sh>", before+command, "shell", []param.Value{"/bin/sh", "+e"}, "_store", param.New(stored, "stdout"))
}

// continues reports whether later steps run if this one was skipped or failed; what is one of the two.
func (s *step) continues(what string) bool {
	v, _ := s.Get("continue_on")
	if m, isMap := v.(*param.Map); isMap {
		on, _ := m.Get(what)
		if what == "failed" && on == nil {
			on, _ = m.Get("failure")
		}
		return on == true
	}
	return strings.HasPrefix(textOf(v), what[:4])
}
