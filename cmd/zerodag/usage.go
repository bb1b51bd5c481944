package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/engine/param"
)

// asDigdag says that this program was called by the name of the original: scripts that were
// written for it get its usage and its exit codes.
func asDigdag() bool { return program != ourName }

// wrongUsage tells what is wrong with a command line, in two lines, and returns the exit code.
// The original shows all options before, and exits with 1.
func wrongUsage(s streams, c *cobra.Command, err error) int {
	if asDigdag() {
		fmt.Fprintf(s.err, "%serror: %s\n", c.UsageString(), asCalled(err.Error()))
		return 1
	}
	fmt.Fprintf(s.err, "error: %s\nUsage: %s (`%s --help` shows all options)\n", asCalled(err.Error()), c.UseLine(), c.CommandPath())
	return 2
}

// wrongCount is for too few or too many arguments. The original takes that for a wish to see
// the usage, and a script never learns that nothing was done.
func wrongCount(c *cobra.Command, s streams, args []string, most int) error {
	if asDigdag() {
		return showUsage(c, s)
	}
	if len(args) > most {
		return usageError{fmt.Errorf("unexpected argument: %s", args[most])}
	}
	_, wanted, _ := strings.Cut(c.Use, " ")
	if wanted == "" {
		return usageError{errors.New("an argument is missing")}
	}
	return usageError{fmt.Errorf("an argument is missing: %s needs %s", c.Name(), wanted)}
}

// unknownCommand names the command that was probably meant.
func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := likely(name, names); near != "" && !asDigdag() {
		return usageError{fmt.Errorf("there is no command %q: did you mean %s?", strings.TrimPrefix(root.CommandPath()+" "+name, ourName+" "), near)}
	}
	return usageError{fmt.Errorf("available commands are: [%s]; there is no %q", commandNames(root), name)}
}

// wrongFlag says what a flag takes whose value cannot be read, and adds the flag that was probably meant.
func wrongFlag(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && !asDigdag() {
		return usageError{wrongValue(value)}
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown || asDigdag() {
		return usageError{err}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := likely(name, names)
	if near == "" && c.Flags().Lookup(flagElsewhere(name)) != nil {
		near = flagElsewhere(name)
	}
	if near != "" {
		return usageError{fmt.Errorf("%w: did you mean --%s?", err, near)}
	}
	return usageError{err}
}

// flagElsewhere maps the name of a flag in other programs to our flag for the same purpose, "" if there is none.
func flagElsewhere(name string) string {
	switch name {
	case "host", "address", "addr", "listen", "ip", "interface":
		return "bind"
	case "data", "data-dir", "dir", "db", "store", "home", "dags":
		return "database"
	case "parameter", "parameters", "params", "var", "vars", "variable", "env", "set":
		return "param"
	case "url", "server", "host-url", "api":
		return "endpoint"
	case "date", "execution-date", "exec-date", "logical-date", "run-id", "time", "schedule-time":
		return "session"
	case "threads", "workers", "concurrency", "max-active-runs":
		return "max-task-threads"
	case "branch", "tag", "version":
		return "revision"
	case "format", "json", "yaml":
		return "output"
	}
	return ""
}

// wrongValue says in the words of the command line what the value of a flag must be.
func wrongValue(err *pflag.InvalidValueError) error {
	name := "--" + err.GetFlag().Name
	var form string
	switch err.GetFlag().Value.Type() {
	case "int", "int64":
		form = "a whole number"
		if errors.Is(err, strconv.ErrRange) {
			form = "a smaller number"
		}
	case "bool":
		form = "true or false, or without a value,"
	default:
		return fmt.Errorf("%s: %w", name, err.Unwrap())
	}
	return fmt.Errorf("%s must be %s but is %q", name, form, err.GetValue())
}

// sameLetters says whether two words differ in the order of their letters only.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// likely is the one candidate that a word is most likely a slip of, or the beginning of.
func likely(word string, candidates []string) string {
	if near := param.Nearest(word, candidates); near != "" {
		return near
	}
	best := ""
	for _, c := range candidates {
		if c != word && (strings.EqualFold(c, word) || sameLetters(c, word)) {
			return c
		}
	}
	for _, c := range param.Suggest(word, candidates) {
		if len(c) >= 2 && c[:1] == word[:min(1, len(word))] && (best == "" || len(c) == len(word)) {
			best = c
		}
	}
	return best
}
