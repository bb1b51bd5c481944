// Package check finds mistakes in the files of a project that came in a request, before they are pushed, as `zerodag
// check` does.
//
// The API calls it. It must never read a file on this machine, nor evaluate anything.
package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/dig/lint"
	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Finding is a mistake or a questionable passage in a file.
type Finding struct {
	dig.Error
	Code string // one of the codes
}

// The codes. Only Refused keeps the project from being pushed.
const (
	Refused   = "refused"
	Doubtful  = "doubtful"         // it probably does not do what its author expects
	Shadowed  = "shadowed"         // the project's operator never runs: a built-in operator has the same name
	Ambiguous = "ambiguous"        // two of the project's operators have the same name
	Stored    = "stored-as-data"   // data that Digdag would evaluate again
	Empty     = "without-workflow" // the project has no workflow file
)

// folder is where a project keeps its operators.
const folder = "operators"

// Code holds the functions that analyze the expressions in a string; a nil function finds nothing.
type Code struct {
	Syntax func(text string) error       // reports a mistake in them
	Uses   func(text string) []param.Use // lists uses of parameters whose result depends on types
}

// Files checks a project's files, given by slash-separated paths, and the expressions in them. The findings are ordered
// by file and line, with Refused ones first. Files returns the workflows if all their files can be read, even if they
// have other mistakes. When ctx ends, it returns the findings so far: ctx shows the caller that the rest was not
// checked.
func Files(ctx context.Context, files map[string]string, code Code) ([]Finding, []dig.Workflow) {
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
		add(Empty, dig.Error{Message: "there is no workflow: its file must end with .dig and be at the top of the project folder"})
	}
	loaded, err := dig.Load(read, workflows)
	var list dig.Errors
	switch {
	case errors.As(err, &list):
		add(Refused, list...)
		loaded, _, _ = dig.LoadHere(read, workflows) // without the parts that cannot be read at all
	case err != nil:
		add(Refused, dig.Error{Message: err.Error()})
	}
	known := Known()
	known.Syntax, known.Uses, known.Folder = code.Syntax, code.Uses, Folders(names)
	known.Stop = func() bool { return ctx.Err() != nil }
	known.Operators = append(known.Operators, ownOperators(names, add)...)
	declared, again := Declared(loaded)
	known.Operators = append(known.Operators, declared...)
	add(Shadowed, again...)
	add(Doubtful, lint.Warnings(read, workflows, known)...)
	if slices.ContainsFunc(loaded, func(w dig.Workflow) bool { return !keys.EvalsStored(w.Config) }) {
		for _, name := range names {
			if ext := path.Ext(name); ext == ".py" || ext == ".rb" {
				add(Stored, lint.StoredByScript(name, []byte(files[name]))...)
			}
		}
	}
	return found, loaded
}

// Source reads a project's files by their slash-separated paths.
func Source(files map[string]string) dig.Source {
	return func(name string) ([]byte, error) {
		text, there := files[name]
		if !there {
			return nil, fmt.Errorf("%w: %s", dig.ErrNotFound, name)
		}
		return []byte(text), nil
	}
}

// Folders returns a function that lists the folders of a project with files at these slash-separated paths, in the form
// that lint.Known expects.
func Folders(names []string) func(string) ([]string, bool) {
	entries := sync.OnceValue(func() map[string][]string {
		all, seen := map[string][]string{".": nil}, map[string]bool{}
		for _, name := range names {
			for name = path.Clean(name); name != "." && name != "/" && !seen[name]; name = path.Dir(name) {
				seen[name] = true
				all[path.Dir(name)] = append(all[path.Dir(name)], path.Base(name))
			}
		}
		return all
	})
	return func(folder string) ([]string, bool) {
		list, there := entries()[path.Clean(folder)]
		return list, there
	}
}

// ownOperators returns the operators that the project has as files, both by file name without the extension and by full
// name.
func ownOperators(names []string, add func(string, ...dig.Error)) (own []string) {
	for _, name := range names {
		file, is := strings.CutPrefix(name, folder+"/")
		if !is || strings.Contains(file, "/") {
			continue
		}
		short := strings.TrimSuffix(file, path.Ext(file))
		if code, clash := Clash(name, short, own); code != "" {
			add(code, clash)
		}
		own = append(own, short, file)
	}
	return own
}

// Known describes the built-in operators, for lint.Warnings. A caller adds the project's operators and everything else
// that it knows. The operators' pages are read once for each value.
func Known() lint.Known {
	builtIn := operators.Named()
	once, types := map[string][]string{}, map[string]map[string]string{}
	return lint.Known{
		Now: time.Now(), Operators: slices.Clone(builtIn), BuiltIn: builtIn, Missing: operators.Missing, Takes: operators.Takes,
		Variables: run.VariableNames(), Exported: operators.ExportedNames(),
		Below: map[string][]string{"docker": operators.DockerKeys(), "sandbox": operators.SandboxKeys()},
		Misread: func(operator, key string, v param.Value) string {
			known, read := types[operator]
			if !read {
				known = operators.TypesOf(operator)
				types[operator] = known
			}
			return operators.Misread(known[key], key, v)
		},
		Parameters: func(name string) []string {
			list, read := once[name]
			if _, is := slices.BinarySearch(builtIn, name); !is {
				return nil
			}
			if !read {
				list = operators.ParametersOf(name)
				once[name] = list
			}
			return list
		},
	}
}

// Clash explains why a project's file for the operator called name does not run: a built-in operator or an earlier
// file, whose name is in own, has the same name. The code is "" if there is no clash.
func Clash(file, name string, own []string) (code string, e dig.Error) {
	switch {
	case slices.Contains(operators.Named(), name):
		return Shadowed, dig.Error{File: file, Message: name + "> is built in, so this file is never run", Hint: "give it a different name"}
	case slices.Contains(own, name):
		return Ambiguous, dig.Error{File: file, Message: name + "> is ambiguous: another file has the same name", Hint: "keep one of them"}
	}
	return "", dig.Error{}
}

// Declared returns the operators that workflows declare below `plugin` in their exports and tasks, with an error for
// each operator that never runs because a built-in operator has the same name.
func Declared(workflows []dig.Workflow) (names []string, shadowed dig.Errors) {
	builtIn := operators.Named()
	for _, w := range workflows {
		nodes, err := dig.Tree(w.Name, w.Config)
		if err != nil {
			continue // Load reported it
		}
		for _, n := range nodes {
			for _, m := range []*param.Map{n.Export, n.Config} {
				for _, name := range m.Map("plugin").Map(folder).Keys() {
					if slices.Contains(builtIn, name) {
						shadowed = append(shadowed, dig.Error{File: w.Name + ".dig", Task: n.Name,
							Message: name + "> is built in, so its entry in plugin.operators is never run", Hint: "give it a different name"})
					}
					names = append(names, name)
				}
			}
		}
	}
	return names, shadowed
}
