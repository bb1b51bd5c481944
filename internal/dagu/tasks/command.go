package tasks

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// ShellTask returns a task that runs the step's command.
func (s *Step) ShellTask() *param.Map {
	p := s.program()
	if strings.TrimSpace(p.text) == "" {
		if s.Published() != nil {
			p.text = s.publish()
			return s.finished(p.text, nil)
		}
		s.Refuse(s.Map, "command", "write a command", "the step has no command")
		return param.New("fail>", "no command")
	}
	by := references.ShellReader
	if !p.POSIX {
		by = references.ProgramReader
	}
	key := "command"
	for _, other := range []string{"run", "script"} {
		if s.Has(other) {
			key = other
		}
	}
	return s.CommandTask(s.Command(s.Map, key, p.text, by), p)
}

// CommandTask returns a task for a translated command, with the step's variables, folder, files and outputs.
func (s *Step) CommandTask(text string, p Program) *param.Map {
	before := s.prelude()
	settled, codes := s.settles()
	_, asks := s.repetition().asked(s)
	fixed := s.fixed()
	if !p.POSIX && (fixed != "" || before != "" || settled || asks || references.WritesOutputs(s.Map) ||
		s.Has("stdout") && s.printedOutputs() == nil || s.Has("stderr")) {
		text, p = hosted(text, p), Program{Shell: []param.Value{"/bin/sh", "-e"}, POSIX: true, Stops: true}
	}
	text = s.asking(followed(s.redirected(text), s.declared()+fixed, p), p)
	if settled {
		text = s.settled(text, p, codes)
	}
	return s.finished(before+text, p.Shell)
}

// followed returns a command with lines appended that run only after the command succeeds, even if it ends its shell.
func followed(text, lines string, p Program) string {
	if lines == "" {
		return text
	}
	text = strings.TrimSuffix(text, "\n") + "\n"
	switch {
	case !p.Stops:
		text = "(\n" + text + ")\ncode=$?\n[ $code = 0 ] || exit $code\n"
	case ends().MatchString(text):
		text = "(\n" + text + ")\n"
	}
	return text + lines
}

// ends matches shell code that may end a script or change how it ends.
var ends = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(exit|exec|return|trap|eval|source|set)\b|(^|[\n;&|({] *)\. `)
})

// finished returns a task with the step's container, variables and outputs.
func (s *Step) finished(text string, shell []param.Value) *param.Map {
	task := param.New("sh>", text)
	if shell != nil {
		task.Set("shell", continuing(shell))
	}
	env := s.plainEntries()
	if v, there := s.Get("container"); there {
		if m, isMap := v.(*param.Map); isMap {
			docker, more := Docker(s.Translator, m)
			if docker != nil {
				task.Set("docker", docker)
			}
			env = param.Merge(more, env)
		} else {
			s.Refuse(s.Map, "container", "name an image; each command runs in a new container",
				"commands cannot run in an existing container")
		}
	}
	for name, v := range s.Extra.All() {
		env.Set(name, v)
	}
	if env.Len() > 0 {
		task.Set("_env", env)
	}
	if stored := s.stored(); stored.Len() > 0 {
		task.Set("_store", stored)
	}
	return task
}

// hosted returns a shell command that runs a script for another program.
func hosted(text string, p Program) string {
	end := "END_OF_SCRIPT"
	for strings.Contains(text, end) {
		end += "_"
	}
	list := make([]string, len(p.Shell))
	for i, word := range p.Shell {
		list[i] = document.TextOf(word)
		if !PlainWords(list[i]) || strings.ContainsAny(list[i], " '\"") {
			list[i] = references.ShellWord(list[i])
		}
	}
	return "script=$(mktemp)\ntrap 'rm -f \"$script\"' EXIT\ncat > \"$script\" <<'" + end + "'\n" +
		strings.TrimSuffix(text, "\n") + "\n" + end + "\n" + strings.Join(list, " ") + " \"$script\"\n"
}

// plainEntries returns the step's variables that expressions can compute.
func (s *Step) plainEntries() *param.Map {
	out := param.New()
	shell := false
	for name, v := range document.Entries(s.Map).All() {
		if text := document.TextOf(v); !shell && s.plainEntry(out, text) {
			out.Set(name, s.Plain(s.Map, "env", text))
		} else {
			shell = true
		}
	}
	return out
}

// plainEntry reports whether an expression can compute a variable, which must use neither the machine's environment
// variables nor any of the variables before it.
func (s *Step) plainEntry(before *param.Map, text string) bool {
	for _, found := range document.Reference().FindAllStringSubmatch(text, -1) {
		if before.Has(found[1] + found[2]) {
			return false
		}
	}
	return !s.FindsOut(text) && s.IsPlain(text)
}

// prelude returns the shell lines before the command: variables that only a shell can compute, and the folder.
func (s *Step) prelude() string {
	var b strings.Builder
	if references.WritesOutputs(s.Map) {
		b.WriteString("export " + references.OutputFile + "=\"$ZERODAG_STORE.outputs\"\n: > \"$" + references.OutputFile +
			"\"\n")
	}
	if s.InFolder {
		b.WriteString("export DAG_RUN_WORK_DIR=\"$PWD\"\n")
	}
	for _, line := range s.Exports {
		b.WriteString(line)
	}
	shell, before := false, param.New()
	for name, v := range document.Entries(s.Map).All() {
		text := document.TextOf(v)
		if !document.Identifier().MatchString(name) {
			s.Refuse(s.Map, "env", "give the variable a name of letters, digits and `_`", "invalid name of a variable: %s", name)
			continue
		}
		if shell = shell || !s.plainEntry(before, text); shell {
			b.WriteString(s.Exported(s.Map, name, document.Backticks().ReplaceAllString(text, "$$($1)")))
			s.Note(s.Map, "env", "check the value on that machine", false, "%s is computed on the machine that runs the command: %s",
				name, text)
		}
		before.Set(name, v)
	}
	for _, folder := range s.folders() {
		b.WriteString(s.Into(s.Map, folder))
	}
	return b.String()
}

// folders lists the folders that the command changes into, each relative to the previous one.
func (s *Step) folders() (list []string) {
	for _, m := range []*param.Map{s.Document.Map, s.Document.Map.Map("container"), s.Map, s.Map.Map("container"),
		s.Map.Map("with")} {
		folder := strings.TrimSpace(document.Text(m, "working_dir"))
		if folder == "" || slices.Contains(list, folder) {
			continue
		}
		if path.IsAbs(folder) || strings.HasPrefix(folder, "~") || strings.HasPrefix(folder, "$") {
			list = nil
		}
		list = append(list, folder)
	}
	return list
}

// redirected returns a command whose output goes to files. The log gets the same output when the command ends.
func (s *Step) redirected(text string) string {
	signs, shown, made := "", "", ""
	for _, out := range []struct{ key, sign, to string }{{"stdout", " > ", ""}, {"stderr", " 2> ", " >&2"}} {
		v, there := s.Get(out.key)
		file, folder := document.TextOf(v), ""
		if s.Map.Map(out.key).Has("outputs") {
			continue
		}
		if m, isMap := v.(*param.Map); isMap && m.Len() == 1 && document.Text(m, "artifact") != "" && !s.Has("container") &&
			!s.Document.Map.Has("container") {
			s.Used[references.Artifacts] = true
			file = "$DAG_RUN_ARTIFACTS_DIR/" + document.Text(m, "artifact")
			folder = path.Dir(file)
		}
		switch {
		case !there || v == nil:
			continue
		case file == "" || strings.ContainsAny(file, "'\n"):
			s.Refuse(s.Map, out.key, "write `_store` or a file name", "%s of a step is not translated in this form",
				out.key)
			continue
		}
		file = s.QuotedPath(s.Map, out.key, file)
		if folder != "" {
			made += "mkdir -p " + s.QuotedPath(s.Map, out.key, folder) + "\n"
		}
		if strings.HasSuffix(signs, " "+file) { // the same file for both
			signs += " 2>&1"
			continue
		}
		signs += out.sign + file
		shown += "cat " + file + out.to + "; "
	}
	if signs == "" {
		return text
	}
	return made + "trap '" + strings.TrimSuffix(shown, "; ") + "' EXIT\n(\n" + strings.TrimSuffix(text, "\n") + "\n)" +
		signs + "\n"
}

// settles reports whether the task must succeed although its command fails, because a failed task stores nothing. codes
// lists the exit codes to which that applies; nil means all.
func (s *Step) settles() (yes bool, codes []string) {
	if len(s.Stores) == 0 {
		return false, nil
	}
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	if s.Continues("failed") {
		return true, nil
	}
	if list, there := m.Get("exit_code"); there {
		return true, document.TextsOf(list)
	}
	return false, nil
}

// settled returns a command that stores its exit code and succeeds after a failure.
func (s *Step) settled(text string, p Program, codes []string) string {
	s.Note(s.Map, "continue_on", "test its exit code in a later task", false,
		"step %s succeeds even if its command fails, because a failed task stores no values", s.Called)
	var b strings.Builder
	b.WriteString("set +e\n(\n")
	if p.Stops {
		b.WriteString("set -e\n")
	}
	b.WriteString(strings.TrimSuffix(text, "\n") + "\n)\ncode=$?\n")
	if name := s.Values[s.ID+".exit_code"]; name.Kind == references.OfOutput {
		b.WriteString("echo \"" + name.As + "=$code\" >> \"$ZERODAG_STORE\"\n")
	}
	if m := s.Map.Map("retry_policy"); m != nil {
		b.WriteString("[ $code = 0 ] || [ \"$ZERODAG_TRY\" -gt " + strconv.FormatInt(s.Whole(m, "limit"), 10) +
			" ] || exit $code\n")
	}
	if codes != nil {
		b.WriteString("case $code in 0|" + strings.Join(codes, "|") + ") ;; *) exit $code ;; esac\n")
	}
	return b.String()
}
