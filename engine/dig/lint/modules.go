package lint

import (
	"path"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// module checks the module that py> names if no file was found for it: parts are the names between the dots. Python may
// have modules that are in no project, so only two mistakes are reported: a part that is missing from a project folder
// with other modules, and a first part that is similar to a module of the project that has the named member.
func (c scripts) module(place []string, task, folder string, parts []string, config *param.Map) {
	if c.known.Folder == nil || c.makesFiles || config.Map("_env").Has("PYTHONPATH") {
		return
	}
	for i, part := range parts {
		entries, there := c.known.Folder(folder)
		if !there {
			return
		}
		if below := path.Join(folder, part); i < len(parts)-1 && slices.Contains(entries, part) && c.isFolder(below) {
			folder = below
			continue
		}
		if slices.ContainsFunc(entries, func(e string) bool { return e == part || strings.HasPrefix(e, part+".") }) {
			return // such as a compiled module
		}
		near := param.Nearest(part, c.modulesIn(folder, entries))
		if i == 0 && !c.isMisspelt(folder, near, parts) {
			return // it may be one of Python's own modules
		}
		if i > 0 && c.isMadeElsewhere(folder, entries, part) {
			return
		}
		c.warn(place, task, moduleHint(folder, parts, i, near), "py> finds no %s among the modules in %s", part, nameOfFolder(folder))
		return
	}
}

// moduleHint returns the hint for a part of a module's name that is not in a folder; near is the similar name that
// exists.
func moduleHint(folder string, parts []string, i int, near string) string {
	if near != "" {
		return "did you mean " + strings.Join(slices.Concat(parts[:i], []string{near}, parts[i+1:]), ".") + "?"
	}
	return "does " + path.Join(folder, parts[i]) + ".py exist? The path is relative to the project folder, or to _workdir"
}

func (c scripts) isFolder(name string) bool {
	_, is := c.known.Folder(name)
	return is
}

// isMisspelt reports whether a module of a folder, whose name is similar, has the member that is named after the first
// part.
func (c scripts) isMisspelt(folder, near string, parts []string) bool {
	return near != "" && len(parts) > 1 && c.hasMember(path.Join(folder, near), parts[1])
}

// isMadeElsewhere reports whether a part may be in a package that is created elsewhere, or in a package that imports
// the name.
func (c scripts) isMadeElsewhere(folder string, entries []string, part string) bool {
	return !slices.ContainsFunc(entries, isPython) || c.definedIn(path.Join(folder, "__init__.py"), part)
}

// nameOfFolder returns a readable name for a folder in the project.
func nameOfFolder(folder string) string {
	if folder = path.Clean(folder); folder != "." {
		return folder + "/"
	}
	return "the project's folder"
}

func isPython(file string) bool { return path.Ext(file) == ".py" }

// modulesIn returns the names under which Python imports a folder's contents.
func (c scripts) modulesIn(folder string, entries []string) (names []string) {
	for _, e := range entries {
		if name, is := strings.CutSuffix(e, ".py"); is {
			names = append(names, name)
		} else if inner, isFolder := c.known.Folder(path.Join(folder, e)); isFolder && slices.ContainsFunc(inner, isPython) {
			names = append(names, e)
		}
	}
	return names
}

// hasMember reports whether a module (a file or a folder) has a member with the given name.
func (c scripts) hasMember(module, name string) bool {
	if c.wordsOf(module + ".py")[name] {
		return true
	}
	inner, _ := c.known.Folder(module)
	return slices.Contains(inner, name) || slices.Contains(inner, name+".py")
}

// definedIn reports whether a script may define a name: it contains the word, or defines names at run time.
func (c scripts) definedIn(file, name string) bool {
	words := c.wordsOf(file)
	return words[name] || words["*"] || slices.ContainsFunc(slices.Concat(dynamic, []string{"sys", "__path__"}), func(d string) bool { return words[d] })
}
