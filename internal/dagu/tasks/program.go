package tasks

import (
	"path"
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Shell returns the shell of a workflow or a step as a list (nil if it has none), and reports whether it is a POSIX
// shell. Dagu adds -e to a shell that no step names.
func Shell(d *document.Document, m *param.Map, ofStep bool) (list []param.Value, posix bool) {
	parts := document.Texts(m, "shell")
	if len(parts) == 1 {
		parts = document.Words(parts[0])
	}
	if len(parts) == 0 {
		return nil, true
	}
	parts = append(parts, document.Texts(m, "shell_args")...)
	if parts = readingFile(d, m, parts); parts == nil {
		return nil, true
	}
	name := strings.TrimSuffix(path.Base(parts[0]), ".exe")
	if slices.Contains([]string{"nix-shell", "direct", "pwsh", "powershell", "cmd"}, name) ||
		strings.ContainsAny(strings.Join(parts, ""), "$`") {
		d.Refuse(m, "shell", "write a shell that is installed where the commands run", "the shell %s is not translated",
			strings.Join(parts, " "))
		return nil, true
	}
	posix = isPOSIX(name)
	if posix && !ofStep && !slices.Contains(parts, "-e") {
		parts = slices.Insert(parts, 1, "-e")
	}
	if parts[0] == "bash" || parts[0] == "sh" {
		parts[0] = "/bin/" + parts[0]
	}
	return document.ListOfTexts(parts), posix
}

// readingFile returns a shell without -c; nil for a shell that runs no command.
func readingFile(d *document.Document, m *param.Map, shell []string) []string {
	takesText := func(word string) bool {
		return word == "-c" || isPOSIX(path.Base(shell[0])) && strings.HasPrefix(word, "-") &&
			!strings.HasPrefix(word, "--") && strings.Contains(word, "c")
	}
	switch {
	case !slices.ContainsFunc(shell[1:], takesText):
		return shell
	case d.Today && !slices.Contains(shell, "-c"):
		d.Refuse(m, "shell", "write the shell without it",
			"Dagu does not run commands in a shell with -c among other options: %s", strings.Join(shell, " "))
		return nil
	}
	d.Note(m, "shell", "write the shell without it", false,
		"-c of a shell is dropped: here the shell reads the command from a file")
	for i, word := range shell[1:] {
		if takesText(word) {
			shell[i+1] = strings.Replace(word, "c", "", 1)
		}
	}
	return slices.DeleteFunc(shell, func(word string) bool { return word == "-" })
}

// Program is a script or command with its interpreter.
type Program struct {
	text  string
	Shell []param.Value // nil for the workflow's shell
	POSIX bool          // a POSIX shell reads it
	Stops bool          // it ends at the first line that fails
}

// program returns a step's untranslated command or script and its interpreter.
func (s *Step) program() Program {
	shell, posix := Shell(s.Document, s.Map, true)
	stops := posix && slices.Contains(shell, param.Value("-e"))
	if shell == nil {
		var top []param.Value
		top, posix = Shell(s.Document, s.Document.Map, false)
		stops = posix
		if _, isSet := s.Get("shell"); !isSet && top == nil {
			posix, stops = true, true
		}
	}
	p := Program{Shell: shell, POSIX: posix, Stops: stops}
	script := document.Text(s.Map, "script")
	v, _ := s.Get("command")
	list, isList := v.([]param.Value)
	command := strings.TrimSpace(document.TextOf(v))
	if m, isMap := v.(*param.Map); isMap {
		command = pair(m)
	}
	switch {
	case isList:
		p.text = s.commands(list, p)
	case script == "":
		s.takesNoScript(document.TextOf(v))
		p = s.interpreted(document.TextOf(v), command, p)
	case command == "":
		s.takesNoScript(script)
		p = s.interpreted(script, script, p)
	case PlainWords(command):
		p.Shell, p.text = document.ListOfTexts(document.Words(command)), script
		p.POSIX = isPOSIX(path.Base(document.Words(command)[0]))
		p.Stops = slices.Contains(document.Words(command)[1:], "-e")
	default:
		s.Refuse(s.Map, "command", "write the whole script in `command`",
			"the command of a script is too long to be the program that reads it: %s", command)
	}
	return p
}

// takesNoScript refuses a multi-line script for a shell with -c, because today's Dagu does not run it.
func (s *Step) takesNoScript(text string) {
	named := s.Map
	if !named.Has("shell") {
		named = s.Document.Map
	}
	list := append(document.Texts(named, "shell"), document.Texts(named, "shell_args")...)
	if s.Today && strings.Contains(text, "\n") && !strings.HasPrefix(text, "#!") &&
		slices.Contains(document.Words(strings.Join(list, " ")), "-c") {
		s.Refuse(named, "shell", "write the shell without -c", "Dagu does not pass multi-line scripts to a shell with -c")
	}
}

// PlainWords reports whether a command is a program with options that a shell would not change.
func PlainWords(command string) bool {
	return !strings.ContainsAny(command, "$`\\*?[]{}()<>|&;!#~\n")
}

// interpreted returns a script with the interpreter that its first line may name, unless the step names a shell.
func (s *Step) interpreted(text, command string, p Program) Program {
	p.text = text
	if !strings.Contains(text, "\n") {
		p.text = command
	}
	first, _, _ := strings.Cut(text, "\n")
	if line, there := strings.CutPrefix(first, "#!"); there && p.Shell == nil {
		list := document.Words(strings.TrimSpace(line))
		if len(list) == 0 {
			s.Refuse(s.Map, "script", "name a program after #!", "the first line of a script does not name a program")
			return p
		}
		program := path.Base(list[0])
		if program == "env" && len(list) > 1 {
			program = list[len(list)-1]
		}
		p.Shell, p.POSIX, p.Stops = document.ListOfTexts(list), isPOSIX(program), slices.Contains(list, "-e")
	}
	return p
}

// pair returns the command that the author meant by `echo: hello`, which YAML reads as a mapping.
func pair(m *param.Map) string {
	for key, v := range m.All() {
		return key + ": " + document.TextOf(v)
	}
	return ""
}

// commands joins several commands. Each runs in a separate shell, and the first failure ends them all.
func (s *Step) commands(list []param.Value, p Program) string {
	var all []string
	for _, v := range list {
		one := strings.TrimSpace(document.TextOf(v))
		if m, isMap := v.(*param.Map); isMap {
			one = pair(m)
		}
		if one != "" {
			all = append(all, one)
		}
	}
	switch {
	case len(all) == 1:
		return all[0]
	case !s.Has("run") && !s.Today && oneProgram(all):
		s.Refuse(s.Map, "command", "write it as one string, or as a list in `run`",
			"a list of words is a program with arguments in earlier releases of Dagu, and several commands today: %s",
			strings.Join(all, ", "))
	case len(all) > 0 && !p.POSIX:
		s.Refuse(s.Map, "command", "write one command", "several commands need a shell")
	}
	var b strings.Builder
	for _, one := range all {
		one = "(" + one + ")"
		if strings.ContainsAny(one, "#\n\\") || strings.HasPrefix(one, "((") {
			one = "(\n" + one[1:len(one)-1] + "\n)"
		}
		if !p.Stops {
			one += " || exit $?"
		}
		b.WriteString(one + "\n")
	}
	return b.String()
}

// oneProgram reports whether a list may be a program with its arguments, and not several commands: its first entry is a
// single word.
func oneProgram(list []string) bool {
	return len(list) > 1 && !strings.Contains(list[0], " ")
}

// isPOSIX reports whether a program is a POSIX shell.
func isPOSIX(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, name)
}

// continuing returns a shell that continues after a failed line unless its own options prevent that: `sh>` would end
// the script there, but Dagu does not do so for a shell that a step names.
func continuing(shell []param.Value) []param.Value {
	for i, word := range shell[:min(len(shell), 2)] {
		name, _ := word.(string)
		if isPOSIX(path.Base(name)) && !slices.Contains(shell, param.Value("-e")) {
			return slices.Insert(slices.Clone(shell), i+1, param.Value("+e"))
		}
	}
	return shell
}
