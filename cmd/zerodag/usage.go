package main

import (
	"errors"
	"fmt"
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

// wrongFlag adds the flag that was probably meant.
func wrongFlag(c *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown || asDigdag() {
		return usageError{err}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := likely(name, names); near != "" {
		return usageError{fmt.Errorf("%w: did you mean --%s?", err, near)}
	}
	return usageError{err}
}

// likely is the one candidate that a word is most likely a slip of, or the beginning of.
func likely(word string, candidates []string) string {
	if near := param.Nearest(word, candidates); near != "" {
		return near
	}
	best := ""
	for _, c := range param.Suggest(word, candidates) {
		if len(c) >= 4 && c[:1] == word[:min(1, len(word))] && (best == "" || len(c) == len(word)) {
			best = c
		}
	}
	return best
}
