package projectfolder

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/dig/lint"
	"zerodag/engine/dig/lint/parameters"
	"zerodag/engine/expr/script"
	"zerodag/engine/param"
	"zerodag/internal/check"
	"zerodag/internal/configuration"
	"zerodag/internal/program"
	"zerodag/operators"
)

// Warnings reports valid parts of the workflows that probably do not do what their author expects. only is the single
// workflow file to check, or "" for all. given holds a run's parameters, if any.
func (f Folder) Warnings(c Contents, only string, given *param.Map) (dig.Errors, error) {
	own, warnings, err := projectOperators(f.Root())
	if err != nil {
		return nil, err
	}
	declared, shadowed := check.Declared(c.Workflows)
	warnings = append(warnings, shadowed...)
	known := check.Known()
	known.Operators = slices.Concat(own, declared, known.Operators)
	known.Only, known.Given, known.Folder = only, given, f.Entries
	known.Uses = func(text string) []param.Use { return usesOf(given, script.Uses(text)) }
	if only == "" { // a run reports these JavaScript and script problems itself, and must not start later because of a check
		known.Syntax, known.Uses = script.Check, script.Uses
		stored, err := storedByScripts(f.Root(), c.Workflows)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, stored...)
	}
	return append(warnings, lint.Warnings(f.Source, c.Names, known)...), nil
}

// misleading reports whether one of a run's parameters is a string that looks like a number or a boolean; all
// parameters given with -p are strings.
func misleading(v param.Value) bool {
	text, isText := v.(string)
	_, err := strconv.ParseFloat(text, 64)
	return isText && (err == nil || text == "true" || text == "false")
}

// usesOf returns the uses that a run warns about: uses in which a given string is interpreted as something other than
// what its author means, and uses that do not depend on values.
func usesOf(given *param.Map, all []param.Use) (found []param.Use) {
	for _, use := range all {
		v, _ := given.Get(use.Name)
		wrong := slices.Contains([]param.UseKind{param.Mistake, param.Minus, param.Within, param.Assigned}, use.Kind)
		if !wrong && !misleading(v) {
			continue
		}
		switch use.Kind {
		case param.Compared:
			other, _ := given.Get(use.Other)
			wrong = misleading(other)
		case param.Negated, param.Both:
			wrong = v == "false"
		case param.Added, param.Exactly:
			wrong = v != "true" && v != "false"
		}
		if wrong {
			found = append(found, use)
		}
	}
	return found
}

// UnreadParams returns a warning for each -p parameter (KEY=VALUE) that nothing in the folder reads.
func (f Folder) UnreadParams(params []string) (dig.Errors, error) {
	pairs, err := configuration.SplitPairs("--param", params)
	if err != nil || program.AsDigdag() {
		return nil, err
	}
	var names []string
	for _, one := range pairs {
		name, _, _ := strings.Cut(one.Key, ".")
		if !strings.HasPrefix(name, "_") && !slices.Contains(names, name) && !slices.Contains(operators.ExportedNames(), name) {
			names = append(names, name)
		}
	}
	return parameters.UnreadIn(f.Source, f.Entries, names), nil
}

// TellWarnings writes warnings, one per line; with strict, it returns them as an error.
func TellWarnings(out io.Writer, warnings dig.Errors, strict bool) error {
	for _, w := range warnings {
		fmt.Fprintf(out, "warning: %s\n", WarningLine(w))
	}
	return Strictly(warnings, strict)
}

// WarningLine returns a warning with its remedy on one line.
func WarningLine(w dig.Error) string {
	said, hint, _ := strings.Cut(w.Error(), "\n  ")
	if hint != "" {
		said = strings.TrimSuffix(said, ".") + ": " + hint
	}
	return said
}

// Strictly returns an error if there are warnings and strict makes them one.
func Strictly(warnings dig.Errors, strict bool) error {
	if strict && len(warnings) > 0 {
		return fmt.Errorf("%d warnings, which --strict treats as errors", len(warnings))
	}
	return nil
}

// SortFaults returns schedule faults as warnings, except for faults that prevent a run of the workflow in the file that
// of names (or in any file, if of is ""): it returns those as an error.
func SortFaults(faults dig.ScheduleFaults, of string) (warnings dig.Errors, err error) {
	for _, f := range faults.Unused {
		f.Message = strings.TrimSuffix(f.Message, ".") + ", and a push refuses it"
		warnings = append(warnings, f)
	}
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
