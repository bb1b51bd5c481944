// Package check says what is wrong with the files of a project before they are pushed, as `zerodag check` does, of
// files that came in a request.
//
// The API calls it. It must never read a file of this machine, nor evaluate anything.
package check

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// Finding is one thing that is wrong, or doubtful.
type Finding struct {
	dig.Error
	Code string // one of the codes
}

// The codes. What is Refused keeps the project from being pushed, the others do not.
const (
	Refused   = "refused"
	Doubtful  = "doubtful"         // it hardly does what its author thinks
	Shadowed  = "shadowed"         // an operator of the project that is never run: one of that name is built in
	Ambiguous = "ambiguous"        // two operators of the project have one name
	Stored    = "stored-as-data"   // what the original would evaluate again
	Empty     = "without-workflow" // there is no workflow file
)

// folder is where a project has operators of its own.
const folder = "operators"

// Files checks the files of a project, by their slash paths. syntax says what is wrong with the expressions in a
// text; nil where that cannot be known. The findings are in the order of files and lines, those that keep the project
// from being pushed first. The workflows are there where all their files can be read, whatever else is wrong with them.
func Files(files map[string]string, syntax func(string) error) ([]Finding, []dig.Workflow) {
	names := slices.Sorted(maps.Keys(files))
	workflows := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return path.Ext(name) != ".dig" || strings.Contains(name, "/") })
	read := Source(files)
	var found []Finding
	add := func(code string, list ...dig.Error) {
		for _, e := range list {
			found = append(found, Finding{e, code})
		}
	}
	if len(workflows) == 0 {
		add(Empty, dig.Error{Message: "there is no workflow: its file ends with .dig and lies in the project's folder itself"})
	}
	loaded, err := dig.Load(read, workflows)
	var list dig.Errors
	switch {
	case errors.As(err, &list):
		add(Refused, list...)
		loaded, _, _ = dig.LoadHere(read, workflows) // nothing of what cannot be read at all
	case err != nil:
		add(Refused, dig.Error{Message: err.Error()})
	}
	builtIn := operators.Named()
	own := ownOperators(names, builtIn, add)
	for _, w := range loaded {
		own = append(own, declared(w)...)
	}
	once := map[string][]string{}
	parameters := func(name string) []string {
		if _, read := once[name]; !read {
			once[name] = operators.ParametersOf(name)
		}
		return once[name]
	}
	add(Doubtful, dig.Warnings(read, workflows, dig.Known{Operators: append(own, builtIn...), Missing: operators.Missing, Parameters: parameters, Syntax: syntax})...)
	if slices.ContainsFunc(loaded, func(w dig.Workflow) bool { return !dig.EvalsStored(w.Config) }) {
		for _, name := range names {
			if ext := path.Ext(name); ext == ".py" || ext == ".rb" {
				add(Stored, dig.StoredByScript(name, []byte(files[name]))...)
			}
		}
	}
	return found, loaded
}

// Source reads the files of a project by their slash paths.
func Source(files map[string]string) dig.Source {
	return func(name string) ([]byte, error) {
		text, there := files[name]
		if !there {
			return nil, fmt.Errorf("%w: %s", dig.ErrNotFound, name)
		}
		return []byte(text), nil
	}
}

// ownOperators are those that the project brings as files: by the name without an ending, and by the whole name.
func ownOperators(names, builtIn []string, add func(string, ...dig.Error)) (own []string) {
	for _, name := range names {
		file, is := strings.CutPrefix(name, folder+"/")
		if !is || strings.Contains(file, "/") {
			continue
		}
		short := strings.TrimSuffix(file, path.Ext(file))
		switch {
		case slices.Contains(builtIn, short):
			add(Shadowed, dig.Error{File: name, Message: short + "> is built in, so this file is never run", Hint: "give it another name"})
		case slices.Contains(own, short):
			add(Ambiguous, dig.Error{File: name, Message: short + "> is ambiguous: another file has the same name", Hint: "keep one of them"})
		}
		own = append(own, short, file)
	}
	return own
}

// declared are the operators below `plugin` in the exports of a workflow, and in its tasks.
func declared(w dig.Workflow) (names []string) {
	nodes, err := dig.Compile("", "+"+w.Name, w.Config)
	if err != nil {
		return nil // it was told
	}
	for _, n := range nodes {
		for _, m := range []*param.Map{n.Export, n.Config} {
			names = append(names, m.Map("plugin").Map(folder).Keys()...)
		}
	}
	return names
}
