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
		if below := path.Join(folder, part); i < len(parts)-1 && slices.Contains(entries, part) {
			if _, isFolder := c.known.Folder(below); isFolder {
				folder = below
				continue
			}
		}
		if slices.ContainsFunc(entries, func(e string) bool { return e == part || strings.HasPrefix(e, part+".") }) {
			return // such as a module that was compiled
		}
		modules := c.modulesIn(folder, entries)
		near := param.Nearest(part, modules)
		switch {
		case i == 0 && (near == "" || len(parts) < 2 || !c.hasMember(path.Join(folder, near), parts[1])):
			return // it may be one of Python's
		case i > 0 && (!slices.ContainsFunc(entries, isPython) || c.definedIn(path.Join(folder, "__init__.py"), part)):
			return // a package made elsewhere, or one that gets the name from elsewhere
		}
		hint := "is there a file " + path.Join(folder, part) + ".py? The path is relative to the folder of the project, or to _workdir"
		if near != "" {
			hint = "did you mean " + strings.Join(slices.Concat(parts[:i], []string{near}, parts[i+1:]), ".") + "?"
		}
		c.warn(place, task, hint, "py> finds no %s among the modules in %s", part, nameOfFolder(folder))
		return
	}
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
