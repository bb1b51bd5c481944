package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"zerodag/engine/dig/keys"

	"zerodag/engine/dig/letters"
	"zerodag/engine/param"
)

// scripts looks at the scripts of tasks, in a workflow and in files of the project.
type scripts struct{ *critic }

// What is in a script of sh> and means something else, or nothing, to the shell that runs it.
var (
	ofBash = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;&|(]|\b(?:if|elif|while|until|then|do|else)\b|!)[ \t]*(\[\[|source|declare|pushd|popd|shopt|mapfile|readarray)[ \t]`)
	})
	bashForms = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)<<<|[<>]\(|^[ \t]*\w+\+?=\([^()]*\)[ \t]*$|&>|\|&`)
	})
	typedDash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)([‐-―−]+)[A-Za-z0-9]`) })
	prompt    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\$ +[A-Za-z./]`) })
	asksUser  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;&|]|\b(?:then|do|else)\b)[ \t]*read[ \t]+(?:-\w+[ \t]+)*-\w*p\b`)
	})
	hereDocument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<(-?)[ \t]*(['"]?)([A-Za-z_]\w*)(['"]?)`) })
	forWords     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bfor\s+\w+\s+in\s+\$\{\s*(\w+)\s*\}`) })
	keyLine      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(_?[a-z][a-z_]*):(?: |$)`) })
	assigns      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:(?:^|[;&|(]|\bdo\b|\bthen\b)\s*(?:export\s+|local\s+)?([A-Za-z_]\w*)=|\bfor\s+([A-Za-z_]\w*)\s+in\b|\bread\s+(?:-r\s+)?([A-Za-z_]\w*))`)
	})
	ofActions = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{?(GITHUB_ENV|GITHUB_OUTPUT|GITHUB_PATH|GITHUB_STEP_SUMMARY|DAGU_OUTPUT)\b|::(set-output|set-env) `)
	})
	quoteStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s=(])([“”„‘])`) })
)

// bashOnly warns of what only bash knows.
func (c scripts) bashOnly(place []string, task, plain string) {
	if m := ofBash().FindStringSubmatch(plain); m != nil {
		hint := "write `shell: [bash]`"
		if m[1] == "source" {
			hint = "write . instead of source, or `shell: [bash]`; what the file sets ends with the task"
		}
		c.warn(place, task, hint, "%s is of bash, and /bin/sh may be another shell, which does not know it", m[1])
	} else if form := bashForms().FindString(plain); form != "" {
		c.warn(place, task, "write `shell: [bash]`", "%s is of bash, and /bin/sh may be another shell, which cannot read it", strings.TrimSpace(form))
	}
}

// otherStore warns of the way in which another tool stores a value: by a variable, or by a word behind two colons.
func (c scripts) otherStore(place []string, task, variable, word string) {
	what := "$" + variable
	if variable == "" {
		what = "::" + word
	}
	hint := "write a line NAME=VALUE into $DIGDAG_STORE"
	if c.level == 0 {
		hint += ", which needs `zerodag: 1` at the top of the file"
	}
	c.warn(place, task, hint, "%s is of another tool, and means nothing here", what)
}

// scriptText looks at the characters and forms of a script.
func (c scripts) scriptText(place []string, task, script string, config *param.Map) {
	warn := func(hint, format string, args ...any) { c.warn(place, task, hint, format, args...) }
	plain := bareScript(script)
	inDocument := strings.Contains(plain, "<<")
	if !inDocument {
		c.scriptCharacters(place, task, plain)
	}
	if prompt().MatchString(script) && !inDocument {
		warn("remove the $ in front of the command", "the script begins a line with the $ of a terminal, which is no command")
	}
	if !c.hasShell(config) && !strings.HasPrefix(strings.TrimSpace(script), "#!") && !inDocument {
		c.bashOnly(place, task, plain)
	}
	if asksUser().MatchString(plain) {
		warn("give the value as a parameter: `-p NAME=VALUE`, and $NAME in the script", "read asks nobody: a command has no input")
	}
	if word := endlessDocument(script); word != "" {
		warn("write "+word+" at the beginning of its line, which is where the first line of the script begins", "the text behind << has no end: blanks are in front of %s", word)
	}
	if m := forWords().FindStringSubmatch(script); m != nil {
		if _, isList := c.exports.Value(m[1]).([]param.Value); isList {
			warn("write ${"+m[1]+".join(' ')}, or for_each> with the task below `_do`", "${%s} is a list, of which the shell gets one word of JSON", m[1])
		}
	}
	if m := ofActions().FindStringSubmatch(script); m != nil && !c.exports.Has(m[1]) && !config.Map("_env").Has(m[1]) {
		c.otherStore(place, task, m[1], m[2])
	}
	c.keyInScript(place, task, script, inDocument)
	c.ownVariable(place, task, script)
	for _, name := range c.exports.Keys() {
		if strings.Contains(name, "-") && regexp.MustCompile(`\$`+regexp.QuoteMeta(name)+`\b`).MatchString(script) {
			warn("write "+strings.ReplaceAll(name, "-", "_")+", in _export and in the script", "$%s is $%s and the text -%s: a variable has no - in its name", name, name[:strings.Index(name, "-")], name[strings.Index(name, "-")+1:])
		}
	}
}

// bareScript is a script without its comments and without what is in quotes.
func bareScript(script string) string {
	out := []byte(script)
	var quote byte
	for i := 0; i < len(out); i++ {
		switch c := script[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(out) && script[i+1] != '\n':
			out[i], out[i+1] = 'x', 'x'
			i++
		case quote != 0 && c == '\n':
			out[i] = ' '
		case quote != 0:
			if out[i] = 'x'; c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote, out[i] = c, 'x'
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;", script[i-1]) >= 0):
			for ; i < len(out) && script[i] != '\n'; i++ {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// hasShell reports whether a task names the program that runs its script.
func (c scripts) hasShell(config *param.Map) bool {
	return config.Has("shell") || c.exports.Has("shell") || c.exports.Map("sh").Has("shell") || c.exports.Map("docker").Len() > 0 || config.Map("docker").Len() > 0
}

// scriptCharacters looks for characters that a shell takes for a part of a word, in a script without what is in quotes.
func (c scripts) scriptCharacters(place []string, task, plain string) {
	for line := range strings.Lines(plain) {
		line = strings.TrimRight(line, " \t\r\n")
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		space := strings.IndexFunc(line, func(r rune) bool {
			return r == letters.NoBreakSpace || r == letters.IdeographicSpace || letters.IsInvisible(r) && r != '\u200d'
		})
		prints := first == "echo" || first == "printf"
		dash, quote := typedDash().FindStringSubmatch(line), quoteStart().FindStringSubmatch(line)
		if prints && quote != nil { // it may be a text, unless all of it is quoted so
			last, _ := utf8.DecodeLastRuneInString(line)
			begin, _ := utf8.DecodeRuneInString(strings.TrimSpace(rest))
			if !strings.ContainsRune("“„‘", begin) || !strings.ContainsRune("“”’", last) {
				quote = nil
			}
		}
		switch {
		case space >= 0 && !prints:
			r, _ := utf8.DecodeRuneInString(line[space:])
			c.warn(place, task, letters.Remedy(r), "the script has %s, which the shell takes for a part of a word", letters.NameOf(r))
		case dash != nil && !prints:
			r, _ := utf8.DecodeRuneInString(dash[1])
			c.warn(place, task, "write - or --", "the script has %s, which begins no option", letters.NameOf(r))
		case quote != nil:
			r, _ := utf8.DecodeRuneInString(quote[1])
			c.warn(place, task, letters.Remedy(r), "the script has %s, which quotes nothing and is a part of a word", letters.NameOf(r))
		default:
			continue
		}
		return
	}
}

// keyInScript warns of a key of the task that is indented so that it is a line of the script.
func (c scripts) keyInScript(place []string, task, script string, inDocument bool) {
	if inDocument || !strings.Contains(script, "\n") {
		return
	}
	for _, m := range keyLine().FindAllStringSubmatch(script, -1) {
		if slices.Contains(c.known.parameters("sh"), m[1]) || slices.Contains(keys.TaskKeys(), m[1]) || strings.HasPrefix(m[1], "_") && slices.Contains(keys.Added(keys.AtTask), m[1]) {
			c.warn(place, task, "indent it less, as the key `sh>` above it", "`%s:` is a line of the script, where it is a command", m[1])
			return
		}
	}
}

// ownVariable warns of ${NAME} for a variable that the script itself sets: it is evaluated before a shell runs.
func (c scripts) ownVariable(place []string, task, script string) {
	names := keys.NamesIn(script)
	for _, m := range assigns().FindAllStringSubmatch(script, -1) {
		name := m[1] + m[2] + m[3]
		if !slices.Contains(names, name) || !strings.Contains(script, "${"+name+"}") || c.variable(name) || strings.Contains(script, "this."+name) {
			continue
		}
		if d := c.definitions(); d.open || d.others[name] || d.texts[name] != "" || d.words[name] || d.loose[name] {
			continue
		}
		c.warn(place, task, "write $"+name+", without braces", "${%s} is evaluated before the shell runs, which sets %s", name, name)
		return
	}
}

// endlessDocument is the word that should end a text behind <<, where it is there with blanks in front of it alone.
func endlessDocument(script string) string {
	lines := strings.Split(script, "\n")
	for i, line := range lines {
		m := hereDocument().FindStringSubmatchIndex(line)
		if m == nil || m[0] > 0 && line[m[0]-1] == '<' {
			continue
		}
		tabs, word := line[m[2]:m[3]] == "-", line[m[6]:m[7]]
		indented := false
		for _, end := range lines[i+1:] {
			if tabs {
				end = strings.TrimLeft(end, "\t")
			}
			if end == word {
				indented = false
				break
			}
			indented = indented || strings.TrimSpace(end) == word
		}
		if indented {
			return word
		}
	}
	return ""
}

// programFile looks at a program of the project that is named in a form in which no shell finds it.
func (c scripts) programFile(place []string, task, folder, word string) bool {
	if word == "" || strings.ContainsAny(word, "$*?;|&<>()'\"`") {
		return false
	}
	slashed := strings.ReplaceAll(word, `\`, "/")
	there := func(name string) bool {
		_, err := c.read(path.Join(folder, name))
		return err == nil
	}
	switch ending := strings.ToLower(path.Ext(word)); {
	case slashed != word && there(slashed):
		if !strings.Contains(slashed, "/") || !strings.HasPrefix(slashed, ".") {
			slashed = "./" + slashed
		}
		c.warn(place, task, "write "+slashed, `\ is an escape of the shell, and %s is no path`, word)
	case slices.Contains([]string{".bat", ".cmd", ".ps1"}, ending) && !c.exports.Has("shell"):
		c.warn(place, task, "write it as a script of a shell, or name its program by `shell:`", "%s is a script of Windows, and sh> runs /bin/sh", word)
	case !strings.ContainsAny(word, `/\`) && ending != "" && there(word):
		c.warn(place, task, "write ./"+word, "the shell looks for %s on the PATH only, and not in the folder of the project", word)
	default:
		return false
	}
	return true
}
