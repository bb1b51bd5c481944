package projectfolder

import (
	"zerodag/engine/dig"
	"zerodag/internal/check"
	"zerodag/operators/plugin"
)

// projectOperators lists the names of the operators that a project's folder contains as files, and warnings about their
// obvious mistakes. A built-in operator takes precedence over them.
func projectOperators(root string) (names []string, warnings dig.Errors, err error) {
	files, err := plugin.List(root)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		where := plugin.Folder + "/" + f.File
		isWorkflow := dig.IsOperatorFile(where)
		if !f.Executable && !isWorkflow && !plugin.IsScript(root, f) {
			continue
		}
		if !f.Executable && !isWorkflow {
			warnings = append(warnings, dig.Error{File: where, Message: plugin.NotExecutable(f.File)})
		} else if code, clash := check.Clash(where, f.Name, names); code != "" {
			warnings = append(warnings, clash)
		}
		names = append(names, f.Name)
		if f.File != f.Name {
			names = append(names, f.File)
		}
	}
	return names, warnings, nil
}
