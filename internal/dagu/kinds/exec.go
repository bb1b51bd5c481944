package kinds

import (
	"errors"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/precomputed"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// exec returns a task that runs a program with arguments that no shell changes.
func exec(s *tasks.Step) *param.Map {
	e := s.Map.Map("exec")
	words := []string{word(s, e, "command", strings.TrimSpace(document.Text(e, "command")))}
	v, _ := e.Get("args")
	for _, a := range keys.ListOf(v) {
		words = append(words, word(s, e, "args", document.TextOf(a)))
	}
	if document.Text(e, "command") == "" {
		s.Refuse(s.Map, "exec", "name a program", "the step has no command")
	}
	return s.CommandTask(strings.Join(words, " "), tasks.Program{Shell: nil, POSIX: true, Stops: true})
}

// withinQuotes escapes a string for use between double quotes in a shell command.
func withinQuotes(s *tasks.Step, m *param.Map, key, text string) string {
	var b strings.Builder
	last := 0
	for _, at := range document.Reference().FindAllStringIndex(text, -1) {
		b.WriteString(references.Literal(text[last:at[0]]))
		last = at[1]
		whole := text[at[0]:at[1]]
		if own := orItself(s, whole); own != whole {
			b.WriteString(references.Literal(own))
		} else {
			b.WriteString(s.WithinDoubleQuotes(m, key, whole))
		}
	}
	return b.String() + references.Literal(text[last:])
}

// orItself returns a reference to an environment variable that a shell leaves unchanged if the variable is unset, as
// Dagu does without a shell.
func orItself(s *tasks.Step, whole string) string {
	name := strings.TrimPrefix(strings.Trim(whole[1:], "{}"), "env.")
	if !document.Identifier().MatchString(name) || s.Meaning(name).Expression != "" || s.Values[name].Kind != 0 ||
		s.Unavailable(name) {
		return whole
	}
	return "${" + name + "-" + strings.NewReplacer("$", `\$`, "}", `\}`).Replace(whole) + "}"
}

// word returns a string as a single shell word. Computed values go through a variable, so that the shell does not parse
// them.
func word(s *tasks.Step, m *param.Map, key, text string) string {
	switch {
	case !document.Reference().MatchString(text) && tasks.PlainWords(text) && text != "" &&
		!strings.ContainsAny(text, " '\"\t"):
		return references.Literal(text)
	case !document.Reference().MatchString(text):
		return references.Literal(references.ShellWord(text))
	case !s.IsPlain(text) && !strings.Contains(text, `\`):
		return `"` + withinQuotes(s, m, key, strings.NewReplacer(`"`, `\"`, "`", "\\`").Replace(text)) + `"`
	}
	v := s.Plain(m, key, text)
	if strings.Contains(v, "${"+references.Artifacts) { // `_env` does not evaluate references in an exported value
		return `"` + withinQuotes(s, m, key, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text)) + `"`
	}
	name := "ARG" + strconv.Itoa(s.Extra.Len()+1)
	s.Extra.Set(name, v)
	return `"$` + name + `"`
}

// jq returns a task that filters text or a file with the program jq, which must be installed.
func jq(s *tasks.Step) *param.Map {
	filter, options := document.Text(s.Map, "command"), "-S --indent 4"
	for key, v := range s.With().All() {
		switch {
		case key == "raw" && v == true:
			filter, options = "("+filter+`) | if . == null then "" else . end`, "-S -c -r"
		case key == "raw", key == "input":
		default:
			s.Refuse(s.With(), key, "run `jq` as a command", "%s of jq is not translated", key)
		}
	}
	s.Outside(s.Map, "type", "jq")
	script := strings.TrimSuffix(document.Text(s.Map, "script"), "\n")
	file, isFile := strings.CutPrefix(script, "file://")
	if input := document.Text(s.With(), "input"); input != "" && script == "" {
		file, isFile = input, true
	} else if input != "" || strings.TrimSpace(script) == "" {
		s.Refuse(s.Map, "script", "give it JSON, in `data` or in a file", "jq needs exactly one input")
	}
	s.Note(s.Map, "type", "install it where the commands run", false, "step %s runs the program jq", s.Called)
	const succeeds = " || [ $? = 5 ]" // Dagu prints the filter's error and succeeds
	if isFile {
		one := "if length == 1 then .[0] | (" + filter + "\n) else \"the file is not one JSON value\" | halt_error(2) end"
		return s.CommandTask("jq -s -M "+options+" "+word(s, s.Map, "command", one)+" < "+s.QuotedPath(s.Map, "script", file)+
			succeeds, tasks.Program{POSIX: true, Stops: true})
	}
	text := "printf '%s' " + word(s, s.Map, "script", script) + " | jq -M " + options + " " +
		word(s, s.Map, "command", filter) + succeeds
	return s.CommandTask(text, tasks.Program{POSIX: true, Stops: true})
}

// inDocker returns a task that runs a command in a container that `with` describes.
func inDocker(s *tasks.Step) *param.Map {
	with := s.With()
	s.Map.Set("container", with.Without("shell", "command"))
	if v, there := with.Get("command"); there && !s.Has("command") {
		s.Map.Set("command", v)
	}
	s.Map.Delete("with")
	return s.ShellTask()
}

// templateText returns a template's text: from the step, or from the file variable that `template_ref` names.
func templateText(s *tasks.Step) string {
	from, there := s.With().Get("template_ref")
	if !there {
		return document.Text(s.Map, "script")
	}
	name, isVariable := strings.CutPrefix(document.TextOf(from), "${env.")
	name, isWhole := strings.CutSuffix(name, "}")
	text := document.Text(document.Entries(s.Document.Map), name)
	if !isVariable || !isWhole || s.Has("script") || text == "" || document.Reference().MatchString(text) ||
		s.Values[name].Kind != references.OfEnv || document.Entries(s.Map).Has(name) {
		s.Refuse(s.With(), "template_ref", "write the template in the step",
			"an external template is not translated: %s", document.TextOf(from))
	}
	return text
}

// filled returns the task for a step that fills a template and writes it.
func filled(s *tasks.Step) *param.Map {
	with := s.With()
	s.Outside(s.Map, "type", "a template")
	s.Only(with, "data", "output", "template_ref")
	data, _ := precomputed.Native(with.Map("data")).(map[string]any)
	const dollar = "\ue000" // Dagu replaces references in the data, but not in the template
	text, err := precomputed.Fill(precomputed.OutsideActions(templateText(s), "$", dollar), data)
	switch {
	case errors.Is(err, precomputed.ErrDecides), errors.Is(err, precomputed.ErrUnread),
		errors.Is(err, precomputed.ErrLong), err != nil && document.Reference().MatchString(param.Text(with.Map("data"))):
		s.Refuse(s.Map, "script", "write it with ${...}", "the template cannot be filled in advance: %s", err)
	case err != nil: // it also fails in Dagu
		return param.New("fail>", references.Literal(strings.ReplaceAll(err.Error(), dollar, "$")))
	}
	command := "printf '%s' " + references.Literal(references.ShellWord(strings.ReplaceAll(text, dollar, "$")))
	if document.Reference().MatchString(text) {
		s.Extra.Set("TEMPLATE", strings.ReplaceAll(s.Plain(with, "data", text), dollar, "${'\\x24'}"))
		command = "printf '%s' \"$TEMPLATE\""
	}
	if file := document.Text(with, "output"); file != "" {
		command += " > " + s.QuotedPath(with, "output", file)
	}
	return s.CommandTask(command, tasks.Program{POSIX: true, Stops: true})
}
