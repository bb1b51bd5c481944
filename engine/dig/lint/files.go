package lint

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// takesFile reports whether an operator's value is a file name.
func (c scripts) takesFile(operator string) bool {
	if c.known.Takes == nil {
		return false
	}
	kind := c.known.Takes(operator)
	return kind == "file name" || strings.HasPrefix(kind, "file name, or `{") || strings.HasPrefix(kind, "file, or `{")
}

// files checks the project files that a task with a built-in operator names in its value: whether they exist and can be
// run.
func (c scripts) files(place []string, task, operator, text string, config *param.Map) {
	folder, known := c.workdir(config)
	if !known {
		return
	}
	switch {
	case operator == "py":
		c.function(place, task, folder, text, config)
	case operator == "sh":
		c.script(place, task, folder, text)
	case operator == "rb" && (strings.HasSuffix(text, ".rb") || strings.Contains(text, "/")):
		c.warn(place, task, "write `rb>: METHOD` or `rb>: CLASS.METHOD`, and `require: FILE` without .rb", "rb> runs a method, not a file: %s", text)
	case isAddress(text):
		if operator == "slack" && !config.Has("webhook_url") {
			c.warn(place, task, "write the text after slack>, and set the address as the secret slack.webhook_url: `zerodag secrets --set slack.webhook_url`", "slack> takes a message, not a webhook address")
		}
	case operator != "call" && c.takesFile(operator) && !strings.Contains(text, "\n"):
		file := path.Join(folder, text)
		if _, err := c.read(file); errors.Is(err, dig.ErrNotFound) && !c.makesFiles {
			c.warn(place, task, "the path is relative to the project folder, or to _workdir", "%s> names the file %s, which is not in the project", operator, file)
		}
	}
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// script checks the project's program that a command begins with.
func (c scripts) script(place []string, task, folder, command string) {
	first, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	word, arguments, _ := strings.Cut(first, " ")
	if slices.Contains([]string{"sh", "bash", "dash", "ksh", "zsh"}, path.Base(word)) {
		name, _, _ := strings.Cut(strings.TrimSpace(arguments), " ")
		c.shellScript(place, task, folder, name)
		return
	}
	if c.programFile(place, task, folder, word) || !strings.HasPrefix(word, "./") || strings.ContainsAny(word, "$*?;|&<>()'\"\\`") {
		return
	}
	file := path.Join(folder, word)
	text, err := c.read(file)
	if errors.Is(err, dig.ErrNotFound) {
		if c.makesFiles {
			return // an earlier task may create it
		}
		c.warn(place, task, "the path is relative to the project folder, or to _workdir", "sh> begins with %s, which is not in the project", file)
		return
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasPrefix(line, []byte("#!")) && bytes.HasSuffix(line, []byte("\r")) {
		c.warn(place, task, unixEnds(file), "the first line of %s ends with CR LF, so the system does not find its interpreter", file)
	}
}

// shellScript checks a file that a shell reads, which takes the CR at the end of a line as part of its last word.
func (c scripts) shellScript(place []string, task, folder, name string) {
	if name == "" || strings.ContainsAny(name, "$*?;|&<>()'\"\\`") || strings.HasPrefix(name, "-") || path.IsAbs(name) {
		return
	}
	file := path.Join(folder, name)
	if text, err := c.read(file); err == nil && bytes.Contains(text, []byte("\r\n")) {
		c.warn(place, task, unixEnds(file), "lines of %s end with CR LF, and the shell reads the CR as part of the last word", file)
	}
}

func unixEnds(file string) string {
	return "save it with Unix line endings: sed -i 's/\\r$//' " + file
}

// pythonModules lists standard modules of Python whose names projects are likely to use for files, and digdag and
// zerodag, which the runner provides. Python finds these modules before a project's files.
var pythonModules = []string{"array", "ast", "calendar", "code", "collections", "copy", "csv", "dataclasses", "datetime", "digdag", "email", "enum", "fractions", "glob", "graphlib",
	"html", "http", "io", "json", "locale", "logging", "mailbox", "math", "numbers", "operator", "os", "pickle", "platform", "profile", "queue", "random", "re", "sched",
	"secrets", "select", "shelve", "signal", "site", "socket", "sqlite3", "statistics", "string", "subprocess", "sys", "tempfile", "threading", "time", "token", "trace",
	"types", "typing", "unittest", "uuid", "warnings", "xml", "zerodag", "zipfile"}

// dynamic lists words with which a script may define names that do not appear in it.
var dynamic = []string{"globals", "setattr", "exec", "eval", "__getattr__", "vars", "locals"}

// functionAsPath warns about a function of py> that is written as a path, and reports whether there is nothing else to
// check.
func (c scripts) functionAsPath(place []string, task, folder, text string) bool {
	if !strings.ContainsAny(text, `/\`) && !strings.HasSuffix(text, ".py") {
		return false
	}
	clean := strings.TrimSuffix(strings.TrimLeft(strings.ReplaceAll(text, `\`, "/"), "./"), "/")
	module, isScript := strings.CutSuffix(clean, ".py")
	module = strings.ReplaceAll(module, "/", ".")
	if isScript {
		if _, err := c.read(path.Join(folder, clean)); err != nil {
			clean = text
		}
		c.warn(place, task, "write `py>: "+module+".FUNCTION`, or `sh>: python3 "+clean+"` for the whole file", "py> runs a function of a module, not a file: %s", text)
		return true
	}
	if strings.Contains(text, ":") || strings.HasSuffix(text, ")") {
		return false
	}
	c.warn(place, task, "write `py>: "+module+"`", "py> needs dots between the folders of a module: %s", text)
	return true
}

// function checks that the target of py> exists in its module, if that is a project file. For MODULE.CLASS.METHOD it
// checks only the class, since a method may be inherited.
func (c scripts) function(place []string, task, folder, text string, config *param.Map) {
	const form = "write py> as MODULE.FUNCTION or MODULE.CLASS.METHOD"
	if c.functionAsPath(place, task, folder, text) {
		return
	}
	if strings.HasSuffix(text, ")") || strings.Contains(text, ":") {
		c.warn(place, task, form+", without parentheses; pass arguments as parameters of the task", "py> cannot read %q", text)
		return
	}
	parts := strings.Split(text, ".")
	for n := len(parts) - 1; n > 0; n-- {
		file := path.Join(folder, path.Join(parts[:n]...)+".py")
		words := c.wordsOf(file)
		if words == nil {
			continue
		}
		name := parts[n]
		switch {
		case slices.Contains(pythonModules, parts[0]):
			c.warn(place, task, "rename the file", "%s is never read: the Python module %s hides it", file, parts[0])
			return
		case !words[name] && !words["*"] && !slices.ContainsFunc(dynamic, func(d string) bool { return words[d] }):
			c.warn(place, task, form+": is there a `def "+name+"` or a `class "+name+"`?", "%s does not define %s", file, name)
		}
		if n == len(parts)-1 && slices.ContainsFunc(c.functionsOf(file)[parts[n]], func(f function) bool { return f.async }) {
			c.warn(place, task, "write a function `def start(): asyncio.run("+parts[n]+"())`, and `py>: "+strings.Join(append(slices.Clone(parts[:n]), "start"), ".")+"`", "%s in %s is a coroutine (async def), which py> does not run", parts[n], file)
		}
		return
	}
	if len(parts) > 1 {
		c.module(place, task, folder, parts, config)
	}
}

// envFiles checks the variable files that a task names: whether they exist and can be read.
func (c scripts) envFiles(path []string, task string, config *param.Map) {
	if c.level == 0 {
		return
	}
	place := append(slices.Clone(path), keys.EnvFilesKey)
	for _, v := range keys.ListOf(config.Value(keys.EnvFilesKey)) {
		f, fault, _ := keys.EnvFileOf(v, true)
		if fault != "" || strings.Contains(f.Name, "${") {
			continue
		}
		text, err := c.read(f.Name)
		var wrong dig.Errors
		_, invalid := dig.ReadEnvFile(f.Name, text)
		switch {
		case errors.Is(err, dig.ErrNotFound) && !f.Optional:
			c.warn(place, task, "the path is relative to the project folder; write '"+f.Name+"?' if it may be missing", "the environment file %s is not in the project", f.Name)
		case err == nil && errors.As(invalid, &wrong):
			c.faulty(place, task, wrong)
		}
	}
}

// environment checks a command's environment variables, and the folder in which it runs. command is the key of its
// operator.
func (c scripts) environment(at []string, task, operator, command string, config *param.Map) {
	for _, key := range config.Map("_env").Keys() {
		if !strings.Contains(key, "${") && !keys.EnvName().MatchString(key) {
			c.warn(append(slices.Clone(at), "_env", key), task, "use letters, digits and _", "_env: %s is not a valid variable name, so the task will fail", key)
		}
	}
	c.workFolder(at, task, operator, command, config)
}

// workFolder checks the folder in which a command runs.
func (c scripts) workFolder(at []string, task, operator, command string, config *param.Map) {
	folder, known := c.workdir(config)
	if !known || !config.Has("_workdir") && !c.exports.Has("_workdir") {
		return
	}
	where := append(slices.Clone(at), "_workdir")
	if !config.Has("_workdir") {
		where = append(slices.Clone(at), command) // the place of the command: an _export may be far away
	}
	switch clean := path.Clean(folder); {
	case path.IsAbs(folder):
	case clean == ".." || strings.HasPrefix(clean, "../"):
		if config.Has("_workdir") {
			c.warn(where, task, "write a folder below the project folder", "_workdir leaves the project folder, so the task will fail: %s", folder)
		}
	case c.known.Folder != nil && c.runsCommand(operator) && !c.makesFiles && !slices.Contains(c.noFolders, clean):
		if _, there := c.known.Folder(clean); !there {
			c.noFolders = append(c.noFolders, clean)
			c.warn(where, task, "_workdir must be a folder below the project folder: does it exist?", "the folder %s of _workdir is not in the project, so the task will fail", folder)
		}
	}
}
