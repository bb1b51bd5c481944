package lint

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// isArgument reports whether a key of a task with py> can only be an argument of its function.
func (c *critic) isArgument(config *param.Map, key string) bool {
	return !strings.HasPrefix(key, "_") && !strings.HasPrefix(key, "+") && !strings.HasSuffix(key, ">") && key != "script" &&
		!slices.Contains(anyForm, key) && !c.readingOf(config).used(key) && !keys.IsBody(config, key)
}

// arguments warns about parameters of py> that its function does not take, if the function is in a project file and
// nothing else in that file may read them.
func (c *critic) arguments(at []string, task, command string, config *param.Map) {
	folder, known := c.workdir(config)
	dot := strings.LastIndexByte(command, '.')
	if !known || dot < 0 || strings.Contains(command, "${") {
		return
	}
	file := path.Join(folder, strings.ReplaceAll(command[:dot], ".", "/")+".py")
	names, found := argumentsOf(c.functionsOf(file)[command[dot+1:]])
	if !found {
		return
	}
	for _, key := range config.Keys() {
		if !c.isArgument(config, key) || slices.Contains(names, key) {
			continue
		}
		near := param.Nearest(key, names)
		if near == "" && (c.foreignHint("py", key) == "" && c.mayImport(folder, file) || c.mayReadParameters(file, key)) {
			continue
		}
		c.warn(append(slices.Clone(at), key), task, c.argumentHint(key, near, names), "%s in %s has no argument %s", command[dot+1:], file, key)
	}
}

// argumentHint returns the hint for a parameter that is not an argument of a function; near is the argument that the
// author may have meant.
func (c *critic) argumentHint(key, near string, names []string) string {
	foreign := c.foreignHint("py", key)
	switch {
	case near != "":
		return "did you mean " + near + "?"
	case foreign != "":
		return foreign
	case len(names) == 0:
		return "it takes no arguments; variables of other tasks belong in _export"
	}
	return "its arguments are " + strings.Join(names, ", ") + "; variables of other tasks belong in _export"
}

// function is a definition at the top level of a Python module.
type function struct {
	decorated, async bool
	called           bool   // arguments are known
	arguments        string // as they are written
}

// definition matches such a definition, whose arguments may contain parentheses.
var definition = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^@.*\r?\n)?^(async )?def (\w+)(?:\s*(\()([^()]*(?:\([^()]*\)[^()]*)*)\))?`)
})

// functionsOf returns a module's functions by name. Each module is read once.
func (c *critic) functionsOf(file string) map[string][]function {
	s := c.scriptOf(file)
	if s == nil {
		return nil
	}
	if s.functions == nil {
		s.functions = map[string][]function{}
		for _, m := range definition().FindAllStringSubmatch(string(s.code), -1) {
			s.functions[m[3]] = append(s.functions[m[3]], function{m[1] != "", m[2] != "", m[4] != "", m[5]})
		}
	}
	return s.functions
}

// argumentsOf returns the names of a function's arguments, according to its definitions. found is false unless there is
// exactly one definition, without decorators and without arbitrary arguments.
func argumentsOf(all []function) (names []string, found bool) {
	if len(all) != 1 || !all[0].called || all[0].decorated || strings.Contains(all[0].arguments, "**") {
		return nil, false
	}
	depth, name := 0, ""
	text := pythonComment.ReplaceAllString(all[0].arguments, "") + ","
	for _, r := range text {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case r == ',' && depth == 0:
			name, _, _ = strings.Cut(name, "=")
			name, _, _ = strings.Cut(name, ":")
			if name = strings.Trim(name, "* \t\r\n/"); name != "" {
				names = append(names, name)
			}
			name = ""
			continue
		}
		name += string(r)
	}
	return names, true
}

// pythonComment matches a comment in Python.
var pythonComment = regexp.MustCompile(`#[^\n]*`)

// mayReadParameters reports whether a module may read a parameter by its name, or all parameters.
func (c *critic) mayReadParameters(file, key string) bool {
	words := c.wordsOf(file)
	return words[key] || words["*"] || words["params"] || slices.ContainsFunc(dynamic, func(d string) bool { return words[d] })
}

// mayImport reports whether a module may import another module of its folder, which may read parameters.
func (c *critic) mayImport(folder, file string) bool {
	if c.known.Folder == nil {
		return true
	}
	entries, _ := c.known.Folder(path.Clean(folder))
	words := c.wordsOf(file)
	return slices.ContainsFunc(scripts{c}.modulesIn(folder, entries), func(module string) bool { return module+".py" != path.Base(file) && words[module] })
}
