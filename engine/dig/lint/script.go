package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint/shell"

	"zerodag/engine/param"
)

// scripts checks task scripts, in a workflow and in project files.
type scripts struct{ *critic }

// otherStore warns about another tool's way of storing a value: with a variable, or with a keyword after two colons.
func (c scripts) otherStore(place []string, task, variable, word string) {
	what := "$" + variable
	if variable == "" {
		what = "::" + word
	}
	hint := "write a line NAME=VALUE to $ZERODAG_STORE"
	if c.level == 0 {
		hint += ", which needs `zerodag: 1` at the top of the file"
	}
	c.warn(place, task, hint, "%s belongs to a different tool and has no effect here", what)
}

// scriptText checks the characters and forms of a script.
func (c scripts) scriptText(place []string, task, script string, config *param.Map) {
	warn := func(hint, format string, args ...any) { c.warn(place, task, hint, format, args...) }
	for _, slip := range shell.Slips(script, !c.hasShell(config)) {
		warn(slip.Hint, "%s", slip.Message)
	}
	if name := shell.LoopedOver(script); name != "" {
		if _, isList := c.exports.Value(name).([]param.Value); isList {
			warn("write ${"+name+".join(' ')}, or for_each> with the task below `_do`", "${%s} is a list, which the shell receives as one word of JSON", name)
		}
	}
	if variable, word := shell.OtherStore(script); variable+word != "" && !c.exports.Has(variable) && !config.Map("_env").Has(variable) {
		c.otherStore(place, task, variable, word)
	}
	c.keyInScript(place, task, script)
	c.ownVariable(place, task, script)
	for _, found := range hyphenated().FindAllStringSubmatch(script, -1) {
		for name := found[1]; strings.Contains(name, "-"); name = name[:strings.LastIndex(name, "-")] {
			if c.exports.Has(name) {
				first, rest, _ := strings.Cut(name, "-")
				warn("write "+strings.ReplaceAll(name, "-", "_")+", in _export and in the script", "$%s is $%s followed by -%s: variable names cannot contain -", name, first, rest)
			}
		}
	}
}

// hyphenated matches a variable of the shell whose name seems to contain hyphens.
var hyphenated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$([A-Za-z_]\w*(?:-\w+)+)`) })

// hasShell reports whether a task names the program that runs its script.
func (c scripts) hasShell(config *param.Map) bool {
	return config.Has("shell") || c.exports.Has("shell") || c.exports.Map("sh").Has("shell") || c.exports.Map("docker").Len() > 0 || config.Map("docker").Len() > 0
}

// keyInScript warns about a key of the task that is indented so far that it becomes a line of the script.
func (c scripts) keyInScript(place []string, task, script string) {
	for _, key := range shell.KeyLines(script) {
		if slices.Contains(c.known.parameters("sh"), key) || slices.Contains(keys.TaskKeys(), key) || strings.HasPrefix(key, "_") && slices.Contains(keys.Added(keys.AtTask), key) {
			c.warn(place, task, "indent it less, as the key `sh>` above it", "`%s:` is part of the script, which runs it as a command", key)
			return
		}
	}
}

// ownVariable warns about ${NAME} for a variable that the script itself sets: it is evaluated before a shell runs.
func (c scripts) ownVariable(place []string, task, script string) {
	names := keys.NamesIn(script)
	for _, name := range shell.Assigned(script) {
		if !slices.Contains(names, name) || !strings.Contains(script, "${"+name+"}") || c.variable(name) || strings.Contains(script, "this."+name) {
			continue
		}
		if c.definitions().Has(name) {
			continue
		}
		c.warn(place, task, "write $"+name+", without braces", "${%s} is evaluated before the shell sets %s", name, name)
		return
	}
}

// programFile checks a program in the project that is named in a form in which no shell finds it.
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
		c.warn(place, task, "write "+slashed, `\ is an escape character in the shell, so %s is not a path`, word)
	case slices.Contains([]string{".bat", ".cmd", ".ps1"}, ending) && !c.exports.Has("shell"):
		c.warn(place, task, "write it as a shell script, or name its program in `shell:`", "%s is a Windows script, but sh> runs /bin/sh", word)
	case !strings.ContainsAny(word, `/\`) && ending != "" && there(word):
		c.warn(place, task, "write ./"+word, "the shell searches for %s only on the PATH, not in the project folder", word)
	default:
		return false
	}
	return true
}
