package dagu

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// shell is the shell of a workflow or a step as a list, and whether it is a POSIX one; nil if it has none. Dagu adds -e to
// a shell that no step names.
func (w *workflow) shell(m *param.Map, ofStep bool) (list []param.Value, posix bool) {
	parts := texts(m, "shell")
	if len(parts) == 1 {
		parts = words(parts[0])
	}
	if len(parts) == 0 {
		return nil, true
	}
	parts = append(parts, texts(m, "shell_args")...)
	takesText := func(word string) bool {
		return word == "-c" || isPOSIX(path.Base(parts[0])) && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "c")
	}
	switch {
	case !slices.ContainsFunc(parts[1:], takesText):
	case w.today && !slices.Contains(parts, "-c"):
		w.refuse(m, "shell", "write the shell without it", "Dagu runs no command in a shell that has -c among other options: %s", strings.Join(parts, " "))
		return nil, true
	default:
		w.note(m, "shell", "write the shell without it", false, "-c of a shell is dropped: here the shell reads the command from a file")
		for i, word := range parts[1:] {
			if takesText(word) {
				parts[i+1] = strings.Replace(word, "c", "", 1)
			}
		}
		parts = slices.DeleteFunc(parts, func(word string) bool { return word == "-" })
	}
	name := strings.TrimSuffix(path.Base(parts[0]), ".exe")
	if slices.Contains([]string{"nix-shell", "direct", "pwsh", "powershell", "cmd"}, name) || strings.ContainsAny(strings.Join(parts, ""), "$`") {
		w.refuse(m, "shell", "write a shell that is installed where the commands run", "the shell %s is not taken over", strings.Join(parts, " "))
		return nil, true
	}
	posix = isPOSIX(name)
	if posix && !ofStep && !slices.Contains(parts, "-e") {
		parts = slices.Insert(parts, 1, "-e")
	}
	if parts[0] == "bash" || parts[0] == "sh" {
		parts[0] = "/bin/" + parts[0]
	}
	return listOfTexts(parts), posix
}

func listOfTexts(texts []string) []param.Value {
	list := make([]param.Value, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// program is a text with its interpreter.
type program struct {
	text  string
	shell []param.Value // nil for the workflow's shell
	posix bool          // a POSIX shell reads it
	stops bool          // it ends with the first line that fails
}

// program returns the untranslated text of a step and its interpreter.
func (s *step) program() program {
	shell, posix := s.shell(s.Map, true)
	stops := posix && slices.Contains(shell, param.Value("-e"))
	if shell == nil {
		var top []param.Value
		top, posix = s.workflow.shell(s.workflow.Map, false)
		stops = posix
		if _, isSet := s.Get("shell"); !isSet && top == nil {
			posix, stops = true, true
		}
	}
	p := program{shell: shell, posix: posix, stops: stops}
	script := text1(s.Map, "script")
	v, _ := s.Get("command")
	list, isList := v.([]param.Value)
	command := strings.TrimSpace(textOf(v))
	if m, isMap := v.(*param.Map); isMap {
		command = pair(m)
	}
	switch {
	case isList:
		p.text = s.commands(list, p)
	case script == "":
		s.takesNoScript(textOf(v))
		p = s.interpreted(textOf(v), command, p)
	case command == "":
		s.takesNoScript(script)
		p = s.interpreted(script, script, p)
	case plainWords(command):
		p.shell, p.text = listOfTexts(words(command)), script
		p.posix = isPOSIX(path.Base(words(command)[0]))
		p.stops = slices.Contains(words(command)[1:], "-e")
	default:
		s.refuse(s.Map, "command", "write the whole script into `command`", "a command that gets a script is too long to be the program that reads it: %s", command)
	}
	return p
}

// takesNoScript refuses a script of several lines for a shell with -c, which today's Dagu does not run.
func (s *step) takesNoScript(text string) {
	named := s.Map
	if !named.Has("shell") {
		named = s.workflow.Map
	}
	list := append(texts(named, "shell"), texts(named, "shell_args")...)
	if s.today && strings.Contains(text, "\n") && !strings.HasPrefix(text, "#!") && slices.Contains(words(strings.Join(list, " ")), "-c") {
		s.refuse(named, "shell", "write the shell without -c", "Dagu gives no script of several lines to a shell with -c")
	}
}

// plainWords reports whether a command is a program with options, which a shell would change nothing of.
func plainWords(command string) bool {
	return !strings.ContainsAny(command, "$`\\*?[]{}()<>|&;!#~\n")
}

// interpreted is a script that its first line may assign to a program, unless the step names a shell.
func (s *step) interpreted(text, command string, p program) program {
	p.text = text
	if !strings.Contains(text, "\n") {
		p.text = command
	}
	first, _, _ := strings.Cut(text, "\n")
	if line, there := strings.CutPrefix(first, "#!"); there && p.shell == nil {
		list := words(strings.TrimSpace(line))
		if len(list) == 0 {
			s.refuse(s.Map, "script", "name a program after #!", "the first line of a script names no program")
			return p
		}
		program := path.Base(list[0])
		if program == "env" && len(list) > 1 {
			program = list[len(list)-1]
		}
		p.shell, p.posix, p.stops = listOfTexts(list), isPOSIX(program), slices.Contains(list, "-e")
	}
	return p
}

// pair returns the command that was meant by `echo: hello`, which YAML reads as a mapping.
func pair(m *param.Map) string {
	for key, v := range m.All() {
		return key + ": " + textOf(v)
	}
	return ""
}

// commands joins several commands. Each has its own shell, and the first failure ends all.
func (s *step) commands(list []param.Value, p program) string {
	var all []string
	for _, v := range list {
		one := strings.TrimSpace(textOf(v))
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
	case !s.Has("run") && !s.today && oneProgram(all):
		s.refuse(s.Map, "command", "write it as one text, or as a list in `run`", "a list of words is a program with arguments in earlier releases of Dagu, and several commands today: %s", strings.Join(all, ", "))
	case len(all) > 0 && !p.posix:
		s.refuse(s.Map, "command", "write one command", "several commands are for a shell")
	}
	var b strings.Builder
	for _, one := range all {
		one = "(" + one + ")"
		if strings.ContainsAny(one, "#\n\\") || strings.HasPrefix(one, "((") {
			one = "(\n" + one[1:len(one)-1] + "\n)"
		}
		if !p.stops {
			one += " || exit $?"
		}
		b.WriteString(one + "\n")
	}
	return b.String()
}

// oneProgram reports whether a list may be a program with its arguments, and not several commands: its first entry is a single word.
func oneProgram(list []string) bool {
	return len(list) > 1 && !strings.Contains(list[0], " ")
}

// shellTask returns a task that runs the command of the step.
func (s *step) shellTask() *param.Map {
	p := s.program()
	if strings.TrimSpace(p.text) == "" {
		if s.published() != nil {
			p.text = s.publish()
			return s.finished(p.text, nil)
		}
		s.refuse(s.Map, "command", "write a command", "the step has no command")
		return param.New("fail>", "no command")
	}
	by := shellReader
	if !p.posix {
		by = programReader
	}
	key := "command"
	for _, other := range []string{"run", "script"} {
		if s.Has(other) {
			key = other
		}
	}
	return s.commandTask(s.command(s.Map, key, p.text, by), p)
}

// commandTask returns a task for a translated text, with the variables, folder, files and outputs of the step.
func (s *step) commandTask(text string, p program) *param.Map {
	before := s.prelude()
	settled, codes := s.settles()
	_, asks := s.repetition().asked(s)
	fixed := s.fixed()
	if !p.posix && (fixed != "" || before != "" || settled || asks || s.writesOutputs() || s.Has("stdout") && s.printedOutputs() == nil || s.Has("stderr")) {
		text, p = hosted(text, p), program{shell: []param.Value{"/bin/sh", "-e"}, posix: true, stops: true}
	}
	text = s.asking(followed(s.redirected(text), s.declared()+fixed, p), p)
	if settled {
		text = s.settled(text, p, codes)
	}
	return s.finished(before+text, p.shell)
}

// followed returns a command with lines that run only after it succeeded, whatever ends it.
func followed(text, lines string, p program) string {
	if lines == "" {
		return text
	}
	text = strings.TrimSuffix(text, "\n") + "\n"
	switch {
	case !p.stops:
		text = "(\n" + text + ")\ncode=$?\n[ $code = 0 ] || exit $code\n"
	case ends().MatchString(text):
		text = "(\n" + text + ")\n"
	}
	return text + lines
}

// ends matches what may end a script of a shell, or change how it ends.
var ends = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(exit|exec|return|trap|eval|source|set)\b|(^|[\n;&|({] *)\. `)
})

// continuing returns a shell that continues after a failed line, unless its own options say otherwise: `sh>` would end the script there,
// Dagu does not for a shell that a step names.
func continuing(shell []param.Value) []param.Value {
	for i, word := range shell[:min(len(shell), 2)] {
		name, _ := word.(string)
		if isPOSIX(path.Base(name)) && !slices.Contains(shell, param.Value("-e")) {
			return slices.Insert(slices.Clone(shell), i+1, param.Value("+e"))
		}
	}
	return shell
}

// isPOSIX reports whether a program is a POSIX shell.
func isPOSIX(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, name)
}

// finished returns a task with the container, the variables and the outputs of the step.
func (s *step) finished(text string, shell []param.Value) *param.Map {
	task := param.New("sh>", text)
	if shell != nil {
		task.Set("shell", continuing(shell))
	}
	env := s.plainEntries()
	if v, there := s.Get("container"); there {
		if m, isMap := v.(*param.Map); isMap {
			docker, more := s.docker(m)
			if docker != nil {
				task.Set("docker", docker)
			}
			env = param.Merge(more, env)
		} else {
			s.refuse(s.Map, "container", "name an image; each command gets its own container", "a command does not run in a container that is there")
		}
	}
	for name, v := range s.extra.All() {
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

// hosted returns a shell command that runs a script of another program.
func hosted(text string, p program) string {
	end := "END_OF_SCRIPT"
	for strings.Contains(text, end) {
		end += "_"
	}
	list := make([]string, len(p.shell))
	for i, word := range p.shell {
		list[i] = textOf(word)
		if !plainWords(list[i]) || strings.ContainsAny(list[i], " '\"") {
			list[i] = shellWord(list[i])
		}
	}
	return "script=$(mktemp)\ntrap 'rm -f \"$script\"' EXIT\ncat > \"$script\" <<'" + end + "'\n" + strings.TrimSuffix(text, "\n") + "\n" + end + "\n" + strings.Join(list, " ") + " \"$script\"\n"
}

// needs adds a variable that Dagu sets in each run.
func (s *step) needs(name string) {
	switch name {
	case "DAG_RUN_ARTIFACTS_DIR":
		s.used[artifacts] = true
		return
	case "DAG_RUN_WORK_DIR":
		s.inFolder = true
		return
	}
	if file, isLog := s.logs()[name]; isLog { // what is exported is not evaluated within _env
		s.extra.Set(name, s.artifactsIn()+file)
		return
	}
	s.extra.Set(name, "${"+s.builtIn()[name]+"}")
}

// plainEntries are the variables of the step that expressions compute.
func (s *step) plainEntries() *param.Map {
	out := param.New()
	shell := false
	for name, v := range s.entries(s.Map).All() {
		if text := textOf(v); !shell && s.plainEntry(out, text) {
			out.Set(name, s.plain(s.Map, "env", text))
		} else {
			shell = true
		}
	}
	return out
}

// plainEntry reports whether an expression can compute a variable: it uses no variable of the machine and none of those before it.
func (s *step) plainEntry(before *param.Map, text string) bool {
	for _, found := range reference().FindAllStringSubmatch(text, -1) {
		if before.Has(found[1] + found[2]) {
			return false
		}
	}
	return !s.findsOut(text) && s.isPlain(text)
}

// prelude returns the shell lines before the command: variables that only a shell can compute, and the folder.
func (s *step) prelude() string {
	var b strings.Builder
	if s.writesOutputs() {
		b.WriteString("export " + outputFile + "=\"$DIGDAG_STORE.outputs\"\n: > \"$" + outputFile + "\"\n")
	}
	if s.inFolder {
		b.WriteString("export DAG_RUN_WORK_DIR=\"$PWD\"\n")
	}
	for _, line := range s.exports {
		b.WriteString(line)
	}
	shell, before := false, param.New()
	for name, v := range s.entries(s.Map).All() {
		text := textOf(v)
		if !identifier().MatchString(name) {
			s.refuse(s.Map, "env", "give the variable a name of letters, digits and `_`", "a variable is called %s", name)
			continue
		}
		if shell = shell || !s.plainEntry(before, text); shell {
			b.WriteString(s.exported(s.Map, name, backticks().ReplaceAllString(text, "$$($1)")))
			s.note(s.Map, "env", "check the value on that machine", false, "the machine that runs the command computes %s: %s", name, text)
		}
		before.Set(name, v)
	}
	for _, folder := range s.folders() {
		b.WriteString(s.into(s.Map, folder))
	}
	return b.String()
}

// into are the lines of a shell that change into a folder, which is made where it is missing.
func (w *workflow) into(m *param.Map, folder string) string {
	if folder == "." {
		return ""
	}
	if found := reference().FindStringSubmatchIndex(folder); found != nil && found[0] == 0 {
		if value := text1(w.env, strings.Trim(folder[1:found[1]], "{}")); strings.HasPrefix(value, "~") {
			w.refuse(m, "working_dir", "write the folder itself", "a shell does not expand ~ in the value of %s", folder[:found[1]])
		}
	}
	name := w.quotedPath(m, "working_dir", folder)
	return "mkdir -p " + name + " && cd " + name + " || exit 1\n"
}

// folders lists the folders that the command changes into, each relative to the one before.
func (s *step) folders() (list []string) {
	for _, m := range []*param.Map{s.workflow.Map, s.workflow.Map.Map("container"), s.Map, s.Map.Map("container"), s.Map.Map("with")} {
		folder := strings.TrimSpace(text1(m, "working_dir"))
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

// quotedPath is a path as a word of a shell.
func (w *workflow) quotedPath(m *param.Map, key, text string) string {
	if !strings.ContainsAny(text, " $'\"`\\*?[](){}<>|&;!#\n") {
		return text
	}
	home, rest := "", text
	if after, there := strings.CutPrefix(text, "~/"); there {
		home, rest = "~/", after
	}
	rest = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(rest)
	return home + "\"" + w.withinDoubleQuotes(m, key, rest) + "\""
}

// redirected is a command with the files that its output goes to. The log gets the same output when the command ends.
func (s *step) redirected(text string) string {
	signs, shown, made := "", "", ""
	for _, out := range []struct{ key, sign, to string }{{"stdout", " > ", ""}, {"stderr", " 2> ", " >&2"}} {
		v, there := s.Get(out.key)
		file, folder := textOf(v), ""
		if s.Map.Map(out.key).Has("outputs") {
			continue
		}
		if m, isMap := v.(*param.Map); isMap && m.Len() == 1 && text1(m, "artifact") != "" && !s.Has("container") && !s.workflow.Map.Has("container") {
			s.used[artifacts] = true
			file = "$DAG_RUN_ARTIFACTS_DIR/" + text1(m, "artifact")
			folder = path.Dir(file)
		}
		switch {
		case !there || v == nil:
			continue
		case file == "" || strings.ContainsAny(file, "'\n"):
			s.refuse(s.Map, out.key, "write `_store`, or a name of a file", "%s of a step is not taken over in this form", out.key)
			continue
		}
		file = s.quotedPath(s.Map, out.key, file)
		if folder != "" {
			made += "mkdir -p " + s.quotedPath(s.Map, out.key, folder) + "\n"
		}
		if strings.HasSuffix(signs, " "+file) { // one file for both
			signs += " 2>&1"
			continue
		}
		signs += out.sign + file
		shown += "cat " + file + out.to + "; "
	}
	if signs == "" {
		return text
	}
	return made + "trap '" + strings.TrimSuffix(shown, "; ") + "' EXIT\n(\n" + strings.TrimSuffix(text, "\n") + "\n)" + signs + "\n"
}

// settles reports whether the task must succeed although its command fails: a failed task stores nothing. codes lists the exit codes
// to which that applies; nil means all.
func (s *step) settles() (yes bool, codes []string) {
	if len(s.stores) == 0 {
		return false, nil
	}
	v, _ := s.Get("continue_on")
	m, _ := v.(*param.Map)
	if s.continues("failed") {
		return true, nil
	}
	if list, there := m.Get("exit_code"); there {
		return true, textsOf(list)
	}
	return false, nil
}

func textsOf(v param.Value) (list []string) {
	for _, e := range keys.ListOf(v) {
		list = append(list, textOf(e))
	}
	return list
}

// settled returns a command that succeeds after a failure, with its exit code stored.
func (s *step) settled(text string, p program, codes []string) string {
	s.note(s.Map, "continue_on", "test its exit code in a later task", false, "step %s succeeds even if its command fails, since a failed task stores no values", s.called)
	var b strings.Builder
	b.WriteString("set +e\n(\n")
	if p.stops {
		b.WriteString("set -e\n")
	}
	b.WriteString(strings.TrimSuffix(text, "\n") + "\n)\ncode=$?\n")
	if name := s.values[s.id+".exit_code"]; name.kind == ofOutput {
		b.WriteString("echo \"" + name.as + "=$code\" >> \"$DIGDAG_STORE\"\n")
	}
	if m := s.Map.Map("retry_policy"); m != nil {
		b.WriteString("[ $code = 0 ] || [ \"$DIGDAG_TRY\" -gt " + strconv.FormatInt(s.whole(m, "limit"), 10) + " ] || exit $code\n")
	}
	if codes != nil {
		b.WriteString("case $code in 0|" + strings.Join(codes, "|") + ") ;; *) exit $code ;; esac\n")
	}
	return b.String()
}

// docker returns the image and options of a container, and the variables of its commands.
func (w *workflow) docker(c *param.Map) (docker, env *param.Map) {
	env = param.New()
	image := text1(c, "image")
	if image == "" {
		w.refuse(c, "image", "name an image; each command gets its own container", "a command does not run in a container that is there")
		return nil, env
	}
	docker = param.New("image", w.plain(c, "image", image))
	var options []param.Value
	option := func(name, key, value string) { options = append(options, name, w.plain(c, key, value)) }
	for key, v := range c.All() {
		switch key {
		case "image":
		case "env":
			for name, v := range w.entries(c).All() {
				env.Set(name, w.plain(c, "env", textOf(v)))
			}
		case "volumes":
			for _, one := range texts(c, key) {
				option("--volume", key, one)
			}
		case "ports":
			for _, one := range texts(c, key) {
				option("--publish", key, one)
			}
		case "network", "user", "platform":
			option("--"+key, key, textOf(v))
		case "working_dir": // the command changes into it
		case "pull_policy", "pull":
			if v == "always" || v == true {
				docker.Set("pull_always", true)
			}
		case "auto_remove", "keep_container", "container_name", "name":
			if key == "container_name" && v != "" {
				w.note(c, key, "remove it where others need not find it", false, "the container does not get the name %s", textOf(v))
			}
		case "host":
			host, _ := v.(*param.Map)
			w.only(host, "binds")
			for _, one := range texts(host, "binds") {
				option("--volume", key, one)
			}
		default:
			w.refuse(c, key, "see `docker` in the page about commands", "%s of a container is not taken over", key)
		}
	}
	if options != nil {
		docker.Set("run_options", options)
	}
	return docker, env
}
