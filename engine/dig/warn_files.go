package dig

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strings"

	"zerodag/engine/param"
)

// files looks at the files of the project that a task with a built-in operator names in its value: whether they are
// there, and can be run.
func (c *critic) files(place []string, task, operator, text string, config *param.Map) {
	folder, known := c.workdir(config)
	if !known {
		return
	}
	kind := ""
	if c.known.Takes != nil {
		kind = c.known.Takes(operator)
	}
	switch {
	case operator == "py":
		c.function(place, task, folder, text)
	case operator == "sh":
		c.script(place, task, folder, text)
	case operator != "call" && strings.HasPrefix(kind, "file") && !strings.ContainsAny(text, "\n"):
		file := path.Join(folder, text)
		if _, err := c.read(file); errors.Is(err, ErrNotFound) {
			c.warn(place, task, "the path is relative to the folder of the project, or to _workdir: is it a file that another task makes?", "%s> names the file %s, which is not in the project", operator, file)
		}
	}
}

// workdir is the folder of the project in which a task runs; known is false where an expression says it.
func (c *critic) workdir(config *param.Map) (folder string, known bool) {
	v := valueOf(config, "_workdir")
	if v == nil {
		v = valueOf(c.exports, "_workdir")
	}
	folder, _ = v.(string)
	return folder, !strings.Contains(folder, "${")
}

// script looks at the program of the project with which a command begins.
func (c *critic) script(place []string, task, folder, command string) {
	first, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	word, _, _ := strings.Cut(first, " ")
	if !strings.HasPrefix(word, "./") || strings.ContainsAny(word, "$*?;|&<>()'\"\\`") {
		return
	}
	file := path.Join(folder, word)
	text, err := c.read(file)
	if errors.Is(err, ErrNotFound) {
		c.warn(place, task, "the path is relative to the folder of the project, or to _workdir: is it a program that another task makes?", "sh> begins with %s, which is not in the project", file)
		return
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("#!")) && bytes.HasSuffix(line, []byte("\r")) {
		c.warn(place, task, "save it with the ends of lines of Unix: sed -i 's/\\r$//' "+file, "the first line of %s ends with CR LF, so that no system finds its interpreter", file)
	}
}

// function looks for the function of py> in its module, where that is a file of the project.
func (c *critic) function(place []string, task, folder, text string) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		return
	}
	for n := len(parts) - 1; n > 0; n-- { // MODULE.FUNCTION, or MODULE.CLASS.METHOD
		file := path.Join(folder, path.Join(parts[:n]...)+".py")
		code, err := c.read(file)
		if err != nil {
			continue
		}
		for _, name := range parts[n:] {
			if found, err := regexp.Match(`\b`+regexp.QuoteMeta(name)+`\b`, code); err == nil && !found && !bytes.Contains(code, []byte("import *")) {
				c.warn(place, task, "py> is written as MODULE.FUNCTION or MODULE.CLASS.METHOD: is there a `def "+parts[len(parts)-1]+"`?", "%s has nothing called %s", file, name)
				return
			}
		}
		return
	}
}
