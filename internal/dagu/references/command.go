package references

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
)

// Reader is the kind of program that reads a string.
type Reader int

// The kinds of readers.
const (
	ShellReader   Reader = iota + 1 // a POSIX shell
	quotesReader                    // a POSIX shell, inside double quotes, for a string that no shell reads in Dagu
	ProgramReader                   // another program, for which `${` means something else or nothing
)

// Translator translates strings with references.
type Translator struct{ *Scope }

// Command translates a string that a shell or another program reads. References that Dagu replaces become expressions;
// the rest is unchanged.
func (t Translator) Command(m *param.Map, key, text string, by Reader) string {
	var b strings.Builder
	last := 0
	safe := by != ProgramReader && !strings.ContainsAny(text, `'\`) && !strings.Contains(text, "<<")
	for _, at := range document.Reference().FindAllStringSubmatchIndex(text, -1) {
		before := text[last:at[0]]
		last = at[1]
		whole, group := text[at[0]:at[1]], at[2:4]
		if group[0] < 0 {
			group = at[4:6]
		}
		inner := text[group[0]:group[1]]
		if isEscaped(text[:at[0]]) && isScoped(inner) { // Dagu removes this backslash
			b.WriteString(Literal(strings.TrimSuffix(before, `\`) + whole))
			continue
		}
		b.WriteString(Literal(before))
		b.WriteString(t.inCommand(use{of: m, key: key, whole: whole, inner: inner, before: text[:at[0]], after: text[at[1]:],
			by: by, safe: safe}))
	}
	b.WriteString(Literal(text[last:]))
	if t.current != nil {
		t.mentioned(m, key, text)
	}
	return b.String()
}

// WithinDoubleQuotes translates a string that Dagu reads without a shell, but that is inside a shell's double quotes
// here: a reference that Dagu keeps must not become a reference for the shell.
func (t Translator) WithinDoubleQuotes(m *param.Map, key, text string) string {
	return t.Command(m, key, text, quotesReader)
}

// mentioned provides a command with the Dagu variables that it names without a `$`, as in os.environ["DAG_RUN_ID"].
func (t Translator) mentioned(m *param.Map, key, text string) {
	for _, name := range managed().FindAllString(text, -1) {
		t.variable(m, key, name, name)
	}
	rest := document.Reference().ReplaceAllStringFunc(text, func(found string) string {
		if strings.ContainsAny(found, ".") {
			return ""
		}
		return found
	})
	for _, word := range nameInText().FindAllString(rest, -1) {
		if t.Values[word].Kind == OfCall && !t.hidden(word) {
			t.Refuse(m, key, "use `${"+word+".outputs.NAME}`", "the whole result of a called workflow has no equivalent: %s",
				word)
		}
	}
}

var nameInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`) })

// use is a reference in a command, which is the value of a key.
type use struct {
	of                          *param.Map
	key                         string
	whole, inner, before, after string
	by                          Reader
	safe                        bool // `$NAME` means the same as `${NAME}` anywhere in the text
}

// numbered reports whether the reference is to a parameter by its position.
func (u use) numbered() bool {
	_, err := strconv.Atoi(u.inner)
	return err == nil
}

// byShell reports whether a shell reads the command.
func (u use) byShell() bool { return u.by != ProgramReader }

// quoted reports whether the reference is inside a shell's single quotes.
func (u use) quoted() bool { return u.byShell() && inSingleQuotes(u.before) }

// inCommand translates a reference in a command.
func (t Translator) inCommand(u use) string {
	if text, left := t.leftToReader(u); left {
		return text
	}
	is := t.Meaning(u.inner)
	switch {
	case is.kept:
		t.keptText(u.of, u.key, u.whole)
		if u.by == quotesReader {
			return `\` + Literal(u.whole)
		}
		return Literal(u.whole)
	case is.Owned && is.Expression != "" && u.by == quotesReader:
		return "${" + strings.ReplaceAll(is.Expression, `'\x24\x7bparams.`, `'\\\x24\x7bparams.`) + "}"
	case is.Owned && is.Expression != "" && !(u.numbered() && u.quoted()):
		t.inOneLine(u)
		return "${" + is.Expression + "}"
	}
	return t.byReader(u, is.Owned && !u.numbered())
}

// leftToReader translates a reference that Dagu does not replace; left reports whether it is such a reference.
func (t Translator) leftToReader(u use) (text string, left bool) {
	switch {
	case isEscaped(u.before) && !t.ofOutput(u.inner):
		return Literal(u.whole), true
	case u.by == quotesReader && t.keptByQuotes(u.before+u.whole+u.after, len(u.before), len(u.before)+len(u.whole)):
		return `\` + Literal(u.whole), true
	case u.by == quotesReader && t.keepsName(u.inner) && t.Values[u.inner].Kind == 0: // unless the machine has it
		otherwise := strings.NewReplacer("$", `\$`, "}", `\}`).Replace(u.whole)
		return t.variable(u.of, u.key, u.inner, "${"+u.inner+"-"+otherwise+"}"), true
	case !strings.HasPrefix(u.whole, "${") && !u.numbered(): // a shell's variable
		return t.variable(u.of, u.key, u.inner, u.whole), true
	}
	return "", false
}

// inOneLine refuses a multi-line value in a one-line command.
func (t Translator) inOneLine(u use) {
	name := u.inner[strings.LastIndex(u.inner, ".")+1:]
	value := document.Text(t.Env, name) + document.Text(t.Params.Map(name), "default")
	if !strings.Contains(u.before+u.after, "\n") && strings.Contains(value, "\n") {
		t.Refuse(u.of, u.key, "write `$"+name+"`", "a multi-line value cannot be part of a one-line command: %s",
			u.whole)
	}
}

// byReader translates a reference for which there is no expression: the reader of the command may have its value. If
// Dagu owns the reference, nothing else has its value.
func (t Translator) byReader(u use, owned bool) string {
	switch {
	case !owned:
	case strings.HasPrefix(u.inner, "env.") && document.Identifier().MatchString(u.inner[4:]) && u.byShell():
		return t.ofMachine(u)
	case workFolder(u.inner) && u.byShell() && t.current != nil:
		return inShell(t.variable(u.of, u.key, "DAG_RUN_WORK_DIR", "${DAG_RUN_WORK_DIR}"), u.quoted())
	case (u.quoted() || !u.byShell()) && !t.known(u.inner):
	default:
		t.Refuse(u.of, u.key, "write the literal value, or compute it with a command and store it with `_store`",
			"%s has no equivalent", u.whole)
	}
	if document.Identifier().MatchString(u.inner) {
		if text := t.variable(u.of, u.key, u.inner, u.whole); !u.safe || startsWord(u.after) {
			return text
		}
		return "$" + u.inner
	}
	return Literal(u.whole)
}

// workFolder reports whether a reference is to the run's folder.
func workFolder(inner string) bool { return strings.TrimPrefix(inner, "context.") == "paths.work_dir" }

// inShell returns a reference to a shell variable, for use between single quotes if quoted is true.
func inShell(variable string, quoted bool) string {
	if quoted {
		return `'"` + variable + `"'`
	}
	return variable
}

// ofMachine returns `${env.NAME}` for one of the machine's environment variables. If the variable does not exist, Dagu
// leaves the text unchanged: a shell then fails, unless the text is between single quotes or the shell only computes
// the value.
func (t Translator) ofMachine(u use) string {
	name := u.inner[len("env."):]
	text := "${" + name + "}"
	if v := t.Values[name]; v.Kind == 0 && name != "PATH" && name != "HOME" &&
		(t.current == nil || !document.Entries(t.current.Map).Has(name)) {
		switch runs := slices.Contains([]string{"run", "command", "script"}, u.key); {
		case runs && !u.quoted():
			text = "${" + name + "?it is not set}"
		default:
			text = "${" + name + `-\${env.` + name + `\}}`
		}
	}
	return inShell(t.variable(u.of, u.key, name, text), u.quoted())
}

// keptText adds a note that a reference stays unchanged.
func (t Translator) keptText(m *param.Map, key, whole string) {
	t.Note(m, key, "correct the name if it should have a value", false,
		"%s is undefined: it stays in the text, as in Dagu", whole)
}

// variable returns a reference to an environment variable. If Dagu sets the variable, the step gets it.
func (t Translator) variable(m *param.Map, key, name, whole string) string {
	_, there := t.builtIn()[name]
	switch {
	case t.Values[name].Kind != 0 || t.current == nil:
	case name == OutputFile && WritesOutputs(t.current.Map):
	case t.Unavailable(name) && !there:
		t.Refuse(m, key, "write to a file, or read the log with `zerodag log`", "%s has no equivalent", whole)
	case there:
		if name == "DAG_RUN_LOG_FILE" {
			t.writesLog(m, key)
		}
		t.needs(name)
	}
	return Literal(whole)
}

// Exported returns a shell line that sets a variable. Commands in the text run.
func (t Translator) Exported(m *param.Map, name, text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	return "export " + name + "=\"" + t.WithinDoubleQuotes(m, name, text) + "\"\n"
}

// QuotedPath returns a path as a shell word.
func (t Translator) QuotedPath(m *param.Map, key, text string) string {
	if !strings.ContainsAny(text, " $'\"`\\*?[](){}<>|&;!#\n") {
		return text
	}
	home, rest := "", text
	if after, there := strings.CutPrefix(text, "~/"); there {
		home, rest = "~/", after
	}
	rest = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(rest)
	return home + "\"" + t.WithinDoubleQuotes(m, key, rest) + "\""
}

// Into returns shell lines that change into a folder, which is created if it is missing.
func (t Translator) Into(m *param.Map, folder string) string {
	if folder == "." {
		return ""
	}
	if found := document.Reference().FindStringSubmatchIndex(folder); found != nil && found[0] == 0 {
		if value := document.Text(t.Env, strings.Trim(folder[1:found[1]], "{}")); strings.HasPrefix(value, "~") {
			t.Refuse(m, "working_dir", "write the folder explicitly", "a shell does not expand ~ in the value of %s",
				folder[:found[1]])
		}
	}
	name := t.QuotedPath(m, "working_dir", folder)
	return "mkdir -p " + name + " && cd " + name + " || exit 1\n"
}
