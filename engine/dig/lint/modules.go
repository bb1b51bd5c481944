package lint

import (
	"path"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// module looks for the module that py> names, of which no file was found: parts are what is written between the points.
// Python may know modules that no project has, so only two slips are told: a part that is not in a folder of the project
// with other modules, and a first part that is near a module of the project which has what is named of it.
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
			return // such as a module that was compiled
		}
		near := param.Nearest(part, c.modulesIn(folder, entries))
		if i == 0 && !c.isMisspelt(folder, near, parts) {
			return // it may be one of Python's
		}
		if i > 0 && c.isMadeElsewhere(folder, entries, part) {
			return
		}
		c.warn(place, task, moduleHint(folder, parts, i, near), "py> finds no %s among the modules in %s", part, nameOfFolder(folder))
		return
	}
}

// moduleHint is the remedy for a part of the name of a module that is not in a folder; near is what there is instead.
func moduleHint(folder string, parts []string, i int, near string) string {
	if near != "" {
		return "did you mean " + strings.Join(slices.Concat(parts[:i], []string{near}, parts[i+1:]), ".") + "?"
	}
	return "is there a file " + path.Join(folder, parts[i]) + ".py? The path is relative to the folder of the project, or to _workdir"
}

func (c scripts) isFolder(name string) bool {
	_, is := c.known.Folder(name)
	return is
}

// isMisspelt reports whether a module of a folder, whose name is near, has what is named of the first part.
func (c scripts) isMisspelt(folder, near string, parts []string) bool {
	return near != "" && len(parts) > 1 && c.hasMember(path.Join(folder, near), parts[1])
}

// isMadeElsewhere reports whether a part may be in a package that is made elsewhere, or in one that gets the name from elsewhere.
func (c scripts) isMadeElsewhere(folder string, entries []string, part string) bool {
	return !slices.ContainsFunc(entries, isPython) || c.definedIn(path.Join(folder, "__init__.py"), part)
}

// nameOfFolder is what people call a folder of the project.
func nameOfFolder(folder string) string {
	if folder = path.Clean(folder); folder != "." {
		return folder + "/"
	}
	return "the project's folder"
}

func isPython(file string) bool { return path.Ext(file) == ".py" }

// modulesIn are the names under which Python imports what a folder has.
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

// hasMember says whether a module, a file or a folder, has something of a name.
func (c scripts) hasMember(module, name string) bool {
	if c.wordsOf(module + ".py")[name] {
		return true
	}
	inner, _ := c.known.Folder(module)
	return slices.Contains(inner, name) || slices.Contains(inner, name+".py")
}

// definedIn says whether a script may have something of a name: it has the word, or makes names at run time.
func (c scripts) definedIn(file, name string) bool {
	words := c.wordsOf(file)
	return words[name] || words["*"] || slices.ContainsFunc(slices.Concat(dynamic, []string{"sys", "__path__"}), func(d string) bool { return words[d] })
}
