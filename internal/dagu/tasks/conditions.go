package tasks

import (
	"fmt"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/sequence"
)

// Conditions holds a workflow's or a step's preconditions.
type Conditions struct {
	references.Translator
	Of     *param.Map    // the workflow or step that has them
	Before func() string // returns the shell lines before a command that decides one
}

// Conditions adds the step's preconditions to its condition.
func (s *Step) Conditions(name string) {
	own, checks := Conditions{s.Translator, s.Map, s.prelude}.Expression(name)
	s.Own, s.Checks = sequence.Join(s.Own, own), checks
}

// Expression returns the preconditions as an expression, together with the tasks that store the values it uses. name is the prefix
// of these values.
func (c Conditions) Expression(name string) (all string, checks []*param.Map) {
	v, _ := c.Of.Get("preconditions")
	if v == nil {
		return "", nil
	}
	for i, e := range keys.ListOf(v) {
		one, check := c.one(e, document.Unique(c.Taken, fmt.Sprintf("%s_check%d", name, i+1)))
		if check != nil {
			if all != "" { // Dagu stops at the first condition that is not met
				check = param.Merge(param.New("_if", "${"+all+"}"), check)
			}
			checks = append(checks, check)
		}
		all = sequence.Join(all, one)
	}
	return all, checks
}

// condition is one precondition as written.
type condition struct {
	text      string
	expected  string // the value that the string must have; "" if it is a command that must succeed
	negate    bool
	evaluated bool // Dagu runs commands in the string
}

func (c Conditions) read(v param.Value) condition {
	is := condition{text: document.TextOf(v)}
	m, _ := v.(*param.Map)
	for key := range m.All() {
		switch key {
		case "condition", "command", "eval":
			is.text, is.evaluated = document.Text(m, key), key == "eval"
		case "expected":
			is.expected = document.Text(m, key)
		case "negate":
			on, _ := m.Get(key)
			is.negate = on == true
		default:
			c.Refuse(m, key, "write the condition differently", "%s of a precondition is unknown", key)
		}
	}
	return is
}

// one returns a condition as an expression. If a command decides it, check is the task that runs the command and stores
// its result under the name stored.
func (c Conditions) one(v param.Value, stored string) (one string, check *param.Map) {
	is := c.read(v)
	if strings.TrimSpace(is.text) == "" {
		c.Refuse(c.Of, "preconditions", "write a condition", "a precondition is empty")
		return "false", nil
	}
	dynamic := is.evaluated || !c.Today // today's Dagu compares the text itself
	switch {
	case dynamic && is.expected != "" && document.HasCommand(is.text):
		check, one = c.check(stored, c.output(is)), c.Fits(c.Of, stored, is.expected, true)
	case is.expected != "" && !c.IsPlain(is.text): // part of the string needs a shell
		text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(is.text)
		check, one = c.check(stored, "printf '%s\\n' \""+c.WithinDoubleQuotes(c.Of, "preconditions", text)+"\""),
			c.Fits(c.Of, stored, is.expected, true)
	case is.expected != "":
		one = c.Fits(c.Of, c.Script(c.Of, "preconditions", is.text), is.expected, c.SeveralLines(is.text))
	default:
		text := c.Command(c.Of, "preconditions", strings.TrimSpace(is.text), references.ShellReader)
		if shell, isCommand := references.AsCommand(is.text); isCommand && !c.Today && strings.HasPrefix(is.text, "`") {
			text = c.Command(c.Of, "preconditions", strings.TrimSpace(shell), references.ShellReader)
		}
		check, one = c.check(stored, "if (\n"+text+"\n) >&2; then echo yes; else echo no; fi"), stored+" == 'yes'"
	}
	if is.negate {
		one = "!(" + one + ")"
	}
	return one, check
}

// output returns a command that prints the text of a condition after its commands have run.
func (c Conditions) output(is condition) string {
	if !is.evaluated {
		c.Note(c.Of, "preconditions", "test the output of a step", false,
			"the command of a condition runs, as in Dagu before 2.7")
	}
	shell, isCommand := references.AsCommand(is.text)
	if !isCommand {
		shell = c.echoed(is.text)
	}
	text := "(\n" + c.Command(c.Of, "preconditions", shell, references.ShellReader) + "\n)"
	if is.evaluated { // if it fails, the step fails
		return text
	}
	return text + " || true"
}

// echoed returns a command that prints text that contains commands.
func (c Conditions) echoed(text string) string {
	text = document.Backticks().ReplaceAllString(text, "$$($1)")
	if strings.Count(text, "$(") > 1 ||
		strings.ContainsAny(text[:strings.Index(text, "$(")]+text[strings.LastIndex(text, ")")+1:], `"\`) {
		c.Refuse(c.Of, "preconditions", "let a step store the value and compare that",
			"a command inside text is not translated: %s", text)
	}
	return "text=\"" + text + "\" && printf '%s' \"$text\""
}

// check returns a task that stores a command's output.
func (c Conditions) check(stored, command string) *param.Map {
	c.Outside(c.Map, "container", "the command of a condition")
	return param.New("sh>", c.Before()+command, "shell", []param.Value{"/bin/sh", "+e"}, "_store",
		param.New(stored, "stdout"))
}
