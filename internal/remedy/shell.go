package remedy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// notFound is the remedy for a command that its shell does not find; "" if its name does not suggest one.
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
		return "source is of bash, and /bin/sh is another shell: write . instead, or `shell: [bash]`"
	case slices.Contains([]string{"[[", "declare", "function"}, name):
		return name + " is of bash, and /bin/sh is another shell: write `shell: [bash]`"
	case name == "$":
		return "remove the $ of the terminal in front of the command"
	case strings.ContainsAny(name, "\u00a0\u3000\u200b"):
		return "there is a no-break or invisible character within `" + name + "`: write a space, which looks the same"
	case strings.HasSuffix(name, ":"):
		return "`" + name + "` is a line of the script: indent it less if it is a key of the task"
	case slices.Contains([]string{".bat", ".cmd", ".ps1"}, path.Ext(name)):
		return name + " is a script of Windows, and sh> runs /bin/sh"
	case strings.Contains(script, `\`) && !strings.Contains(script, name) && strings.Contains(strings.ReplaceAll(script, `\`, ""), name):
		return `\ is an escape of the shell: write / between folders`
	case !strings.Contains(name, "/") && strings.Contains(name, "."):
		return "the shell looks for " + name + " on the PATH only: if it is a file of the project, write ./" + name
	}
	return ""
}

// script is what sh> runs; "" for other operators.
func (f Fault) script() string {
	v, _ := f.Config.Get("sh>")
	text, _ := v.(string)
	return text
}

// programNotFound matches the messages of shells about a missing program.
var programNotFound = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: (\S[^:\n]*:?): (?:command )?not found`) })
