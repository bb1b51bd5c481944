package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/internal/check"
	"zerodag/internal/files"
)

// projectWarnings is what is legal in a project and hardly does what its author thinks; only,
// unless it is "", is the one workflow file that is looked at, and given the parameters of a run.
func projectWarnings(p files.Project, names []string, workflows []dig.Workflow, only string, given *param.Map) (dig.Errors, error) {
	own, warnings, err := projectOperators(p.Root())
	if err != nil {
		return nil, err
	}
	declared, shadowed := check.Declared(workflows)
	warnings = append(warnings, shadowed...)
	known := check.Known()
	known.Operators = slices.Concat(own, declared, known.Operators)
	known.Only, known.Given, known.Folder = only, given, p.Entries
	if only == "" { // a run meets what scripts and expressions do by itself, and is not to begin later
		known.Syntax = script.Check
		stored, err := storedByScripts(p.Root(), workflows)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, stored...)
	}
	return append(warnings, dig.Warnings(p.Source, names, known)...), nil
}

// tellWarnings writes warnings before a project is pushed or run; with strict they are an error.
func tellWarnings(out io.Writer, warnings dig.Errors, strict bool) error {
	for _, w := range warnings {
		said, hint, _ := strings.Cut(w.Error(), "\n  ")
		if hint != "" {
			said = strings.TrimSuffix(said, ".") + ": " + hint
		}
		fmt.Fprintf(out, "warning: %s\n", said)
	}
	return strictly(warnings, strict)
}

func strictly(warnings dig.Errors, strict bool) error {
	if strict && len(warnings) > 0 {
		return fmt.Errorf("%d warnings, and --strict makes them errors", len(warnings))
	}
	return nil
}

// sortFaults makes faults of schedules warnings, but those of one workflow's file that keep it
// from being run; of is that file, or "" for every file.
func sortFaults(faults dig.ScheduleFaults, of string) (warnings dig.Errors, err error) {
	warnings = faults.Unused
	var wrong dig.Errors
	for _, f := range faults.Wrong {
		if of == "" || f.File == of {
			wrong = append(wrong, f)
		} else {
			warnings = append(warnings, f)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return warnings, nil
}
