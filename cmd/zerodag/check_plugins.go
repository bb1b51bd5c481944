package main

import (
	"slices"

	"zerodag/engine/dig"
	"zerodag/operators/plugin"
)

// projectOperators lists the names of the operators that a project brings itself, and what
// can be known to be wrong with them. builtIn wins over them all.
func projectOperators(root string, workflows []dig.Workflow, builtIn []string) (names []string, warnings dig.Errors, err error) {
	files, err := plugin.List(root)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		where := plugin.Folder + "/" + f.File
		switch {
		case !f.Executable && !plugin.IsScript(root, f):
			continue
		case !f.Executable:
			warnings = append(warnings, dig.Error{File: where, Message: plugin.NotExecutable(f.File)})
		case slices.Contains(builtIn, f.Name):
			warnings = append(warnings, dig.Error{File: where, Message: f.Name + "> is built in, so this file is never run", Hint: "give it another name"})
		case slices.Contains(names, f.Name):
			warnings = append(warnings, dig.Error{File: where, Message: f.Name + "> is ambiguous: another file has the same name", Hint: "keep one of them"})
		}
		names = append(names, f.Name)
		if f.File != f.Name {
			names = append(names, f.File)
		}
	}
	declared, more, err := declaredOperators(workflows, builtIn)
	return append(names, declared...), append(warnings, more...), err
}

// declaredOperators are those under `plugin` in exports, and in tasks themselves.
func declaredOperators(workflows []dig.Workflow, builtIn []string) (names []string, warnings dig.Errors, err error) {
	for _, w := range workflows {
		nodes, err := dig.Compile("", "+"+w.Name, w.Config)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range nodes {
			exported, _ := n.Export.Get("plugin")
			own, _ := n.Config.Get("plugin")
			for _, name := range slices.Concat(plugin.Declared(exported), plugin.Declared(own)) {
				if slices.Contains(builtIn, name) {
					warnings = append(warnings, dig.Error{File: w.Name + ".dig", Task: n.Name,
						Message: name + "> is built in, so what plugin.operators says is never run", Hint: "give it another name"})
				}
				names = append(names, name)
			}
		}
	}
	return names, warnings, nil
}
