package remedy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// notFound returns the remedy for a command that its shell does not find, or "" if the name of the command does not
// suggest one.
func (f Fault) notFound() string {
	if !strings.HasPrefix(f.Message, "Command failed with code 127") {
		return ""
	}
	found := programNotFound().FindStringSubmatch(strings.Join(f.Lines, "\n"))
	if found == nil {
		return ""
	}
	name := strings.TrimSpace(found[1])
	script := f.script()
	switch {
	case name == "source":
		return "source is a bash command, but this task runs /bin/sh: write . instead, or `shell: [bash]`"
	case slices.Contains([]string{"[[", "declare", "function"}, name):
		return name + " is bash syntax, but this task runs /bin/sh: write `shell: [bash]`"
	case name == "$":
		return "remove the $ of the terminal prompt before the command"
	case strings.ContainsAny(name, "\u00a0\u3000\u200b"):
		return "there is a no-break or invisible character in `" + name + "`: replace it with a space, which looks the same"
	case strings.HasSuffix(name, ":"):
		return "`" + name + "` is part of the script: indent it less if it is a key of the task"
	case slices.Contains([]string{".bat", ".cmd", ".ps1"}, path.Ext(name)):
		return name + " is a Windows script, but sh> runs /bin/sh"
	case strings.Contains(script, `\`) && !strings.Contains(script, name) && strings.Contains(strings.ReplaceAll(script, `\`, ""), name):
		return `\ is an escape character in the shell: write / between folders`
	case !strings.Contains(name, "/") && strings.Contains(name, "."):
		return "the shell searches for " + name + " only on the PATH: if it is a project file, write ./" + name
	}
	return ""
}

// script returns the script that sh> runs, or "" for other operators.
func (f Fault) script() string {
	v, _ := f.Config.Get("sh>")
	text, _ := v.(string)
	return text
}

// programNotFound matches the messages of shells about a missing program.
var programNotFound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: (\S[^:\n]*:?): (?:command )?not found`) })
