package dig

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

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
		c.function(place, task, folder, text, config)
	case operator == "sh":
		c.script(place, task, folder, text)
	case operator != "call" && (kind == "file name" || strings.HasPrefix(kind, "file name, or `{") || strings.HasPrefix(kind, "file, or `{")) && !strings.Contains(text, "\n"):
		file := path.Join(folder, text)
		if _, err := c.read(file); errors.Is(err, ErrNotFound) && !c.makesFiles {
			c.warn(place, task, "the path is relative to the folder of the project, or to _workdir", "%s> names the file %s, which is not in the project", operator, file)
		}
	}
}

// workdir is the folder of the project in which a task runs; known is false where an expression says it.
func (c *critic) workdir(config *param.Map) (folder string, known bool) {
	v := valueOf(config, "_workdir")
	if v == nil {
		v = valueOf(c.exports, "_workdir")
	}
	if v == nil {
		v = c.folder
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
		if c.makesFiles {
			return // a task before it may make this one
		}
		c.warn(place, task, "the path is relative to the folder of the project, or to _workdir", "sh> begins with %s, which is not in the project", file)
		return
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("#!")) && bytes.HasSuffix(line, []byte("\r")) {
		c.warn(place, task, "save it with the ends of lines of Unix: sed -i 's/\\r$//' "+file, "the first line of %s ends with CR LF, so that no system finds its interpreter", file)
	}
}

// dynamic are words of a script that may make names which stand nowhere in it.
var dynamic = []string{"globals", "setattr", "exec", "eval", "__getattr__", "vars", "locals"}

// function looks for what py> names in its module, where that is a file of the project: of MODULE.CLASS.METHOD the
// class, since a method may be inherited.
func (c *critic) function(place []string, task, folder, text string, config *param.Map) {
	const form = "py> is written as MODULE.FUNCTION or MODULE.CLASS.METHOD"
	if strings.HasSuffix(text, ")") || strings.Contains(text, ":") {
		c.warn(place, task, form+", without parentheses: arguments are parameters of the task", "py> cannot read %q", text)
		return
	}
	parts := strings.Split(text, ".")
	for n := len(parts) - 1; n > 0; n-- {
		file := path.Join(folder, path.Join(parts[:n]...)+".py")
		words := c.wordsOf(file)
		if words == nil {
			continue
		}
		if name := parts[n]; !words[name] && !words["*"] && !slices.ContainsFunc(dynamic, func(d string) bool { return words[d] }) {
			c.warn(place, task, form+": is there a `def "+name+"` or a `class "+name+"`?", "%s has nothing called %s", file, name)
		}
		return
	}
	if len(parts) > 1 {
		c.module(place, task, folder, parts, config)
	}
}

// wordsOf are the words of a script, and "*" where it imports all of another; nil where there is none. Each is read once.
func (c *critic) wordsOf(file string) map[string]bool {
	words, known := c.words[file]
	if !known {
		if code, err := c.read(file); err == nil && len(code) > 0 { // an editor sends names without their texts where those are large
			words = map[string]bool{"*": bytes.Contains(code, []byte("import *"))}
			for _, word := range pythonName().FindAll(code, -1) {
				words[string(word)] = true
			}
		}
		c.words[file] = words
	}
	return words
}

// pythonName is a word of Python.
var pythonName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL_][\pL\pN_]*`) })

// envName is what a variable of the environment may be called.
var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// runsCommand says whether an operator runs a command of its author, which may make files.
func (c *critic) runsCommand(operator string) bool {
	return slices.Contains(c.known.parameters(operator), "_env") || operator == "py" || operator == "rb"
}

// reporter warns of what is wrong at a task that no push refuses, since an operator makes it.
func (c *critic) reporter(at []string, task string) func(path []string, message, hint string) {
	return func(path []string, message, hint string) {
		c.warn(slices.Concat(at, path), task, hint, "%s", message)
	}
}

// envFiles looks at the files of variables that a task names: whether they are there, and can be read.
func (c *critic) envFiles(path []string, task string, config *param.Map) {
	if c.level == 0 {
		return
	}
	place := append(slices.Clone(path), envFilesKey)
	for _, v := range ListOf(valueOf(config, envFilesKey)) {
		f, fault, _ := envFileOf(v, true)
		if fault != "" || strings.Contains(f.Name, "${") {
			continue
		}
		text, err := c.read(f.Name)
		var wrong Errors
		_, invalid := ReadEnvFile(f.Name, text)
		switch {
		case errors.Is(err, ErrNotFound) && !f.Optional:
			c.warn(place, task, "the path is relative to the folder of the project; write '"+f.Name+"?' if it may be missing", "the file %s of variables is not in the project", f.Name)
		case err == nil && errors.As(invalid, &wrong):
			c.faulty(place, task, wrong)
		}
	}
}

// faulty tells the first of what is wrong with a file that a task needs.
func (c *critic) faulty(place []string, task string, errs Errors) {
	first := errs[0]
	c.warn(place, task, first.Hint, "%s", Error{File: first.File, Line: first.Line, Column: first.Column, Message: first.Message})
}

// environment looks at what a command is given, and where it runs. Its operator stands under the key command.
func (c *critic) environment(at []string, task, operator, command string, config *param.Map) {
	for _, key := range config.Map("_env").Keys() {
		if !strings.Contains(key, "${") && !envName().MatchString(key) {
			c.warn(append(slices.Clone(at), "_env", key), task, "write it with letters, digits and _", "_env: %s is no name of a variable, and the task will fail", key)
		}
	}
	folder, known := c.workdir(config)
	if !known || !config.Has("_workdir") && !c.exports.Has("_workdir") {
		return
	}
	where := append(slices.Clone(at), "_workdir")
	if !config.Has("_workdir") {
		where = append(slices.Clone(at), command) // the place of what runs there: an _export may be far away
	}
	switch clean := path.Clean(folder); {
	case path.IsAbs(folder):
	case clean == ".." || strings.HasPrefix(clean, "../"):
		if config.Has("_workdir") {
			c.warn(where, task, "write a folder below that of the project", "_workdir leads out of the project, and the task will fail: %s", folder)
		}
	case c.known.Folder != nil && c.runsCommand(operator) && !c.makesFiles && !slices.Contains(c.noFolders, clean):
		if _, there := c.known.Folder(clean); !there {
			c.noFolders = append(c.noFolders, clean)
			c.warn(where, task, "_workdir is a folder below that of the project: is it there?", "the folder %s of _workdir is not in the project, and the task will fail", folder)
		}
	}
}
