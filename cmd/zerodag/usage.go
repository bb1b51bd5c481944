package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/program"
	"zerodag/internal/remedy"
)

// wrongUsage shows what is wrong with a command line, in two lines, and returns the exit code. Digdag shows all options
// first, and exits with 1.
func wrongUsage(s cli.Streams, c *cobra.Command, err error) int {
	if program.AsDigdag() {
		fmt.Fprintf(s.Err, "%serror: %s\n", c.UsageString(), program.AsCalled(err.Error()))
		return 1
	}
	fmt.Fprintf(s.Err, "error: %s\nUsage: %s (`%s --help` shows all options)\n", program.AsCalled(err.Error()), c.UseLine(), c.CommandPath())
	return 2
}

// unknownCommand names the command that was probably meant.
func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	near := remedy.Near(name, names)
	for _, ours := range remedy.Commands(strings.ToLower(name)) {
		if slices.Contains(names, ours) {
			near = ours
			break
		}
	}
	if near != "" && !program.AsDigdag() {
		return program.UsageError(fmt.Errorf("unknown command %q: did you mean %s?", strings.TrimPrefix(root.CommandPath()+" "+name, program.Name+" "), near))
	}
	return program.UsageError(fmt.Errorf("available commands are: [%s]; there is no %q", cli.CommandNames(root), name))
}

// wrongFlag describes the values of a flag if the given one cannot be read, or suggests the flag that was probably
// meant.
func wrongFlag(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) && !program.AsDigdag() {
		return program.UsageError(wrongValue(value))
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown || program.AsDigdag() {
		return program.UsageError(err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if advice := remedy.FlagAdvice(c.Name(), name); advice != "" {
		return program.UsageError(fmt.Errorf("%w: %s", err, advice))
	}
	near := remedy.Near(name, names)
	if near == "" && c.Flags().Lookup(remedy.Flag(name)) != nil {
		near = remedy.Flag(name)
	}
	if near != "" {
		return program.UsageError(fmt.Errorf("%w: did you mean --%s?", err, near))
	}
	return program.UsageError(err)
}

// wrongValue describes, in terms of the command line, what the value of a flag must be.
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
