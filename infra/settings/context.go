package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// theirs lists CDK context parameters whose names look like ours.
var theirs = []string{"cli-telemetry", "acknowledged-issue-numbers", "notices"}

// IsContext reports whether a context parameter of the cdk command is for the app, as opposed to a flag or a look-up of
// the CDK itself, whose name contains a @ or a colon.
func IsContext(name string) bool {
	return !strings.ContainsAny(name, "@:") && !slices.Contains(theirs, name)
}

// Context returns the context parameters for the app from the cdk command's arguments (-c NAME=VALUE, --context
// NAME=VALUE). It skips all other arguments. If a name appears twice, the last value counts.
func Context(arguments []string) map[string]string {
	parameters := map[string]string{}
	add := func(text string) {
		if name, value, ok := strings.Cut(text, "="); ok && IsContext(name) {
			parameters[name] = value
		}
	}
	next := false
	for _, a := range arguments {
		long, isLong := strings.CutPrefix(a, "--context=")
		short, isShort := strings.CutPrefix(a, "-c")
		switch {
		case next:
			next = false
			add(a)
		case a == "-c" || a == "--context":
			next = true
		case isLong:
			add(long)
		case isShort:
			add(strings.TrimPrefix(short, "="))
		}
	}
	return parameters
}

// ReadContext reads the file of the stage that the parameter stage names, and overrides its settings with the other
// parameters. Every stage except main, which may use only defaults, must have a file or the parameter file=none,
// because a mistyped name would create a new stage.
func ReadContext(folder string, parameters map[string]string) (Settings, error) {
	parameters = maps.Clone(parameters)
	stage, file := "main", ""
	take(parameters, "stage", &stage)
	take(parameters, "file", &file)
	if file != "" && file != "none" {
		return Settings{}, fmt.Errorf("context parameter file must be none but is %q", file)
	}
	s, err := Default(stage), error(nil)
	if file == "" {
		s, err = Read(folder, stage)
		if errors.Is(err, ErrNoFile) && stage == "main" {
			s, err = Default(stage), nil
		}
	}
	if err != nil {
		return s, err
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if err := s.Override(name, parameters[name]); err != nil {
			return s, fmt.Errorf("context parameter %s: %w", name, err)
		}
	}
	return s, s.Validate()
}

// take removes a parameter, if it exists, and stores its value in to.
func take(parameters map[string]string, name string, to *string) {
	if value, ok := parameters[name]; ok {
		*to = value
		delete(parameters, name)
	}
}
