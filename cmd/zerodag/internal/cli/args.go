package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/program"
)

// UpTo accepts no more than n arguments.
func UpTo(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return program.UsageError(fmt.Errorf("unexpected argument: %s", args[n]))
		}
		return nil
	}
}

// ShowUsage shows the usage of a command that only has subcommands.
func ShowUsage(c *cobra.Command, s Streams) error {
	_, err := fmt.Fprint(s.Err, c.UsageString())
	return err
}

// CommandNames returns the names of the visible subcommands of a command.
func CommandNames(c *cobra.Command) string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return strings.Join(names, ", ")
}

// WrongCount handles too few or too many arguments. Digdag treats that as a request for the usage, so a script never
// learns that nothing was done.
func WrongCount(c *cobra.Command, s Streams, args []string, most int) error {
	if program.AsDigdag() {
		return ShowUsage(c, s)
	}
	if len(args) > most {
		return program.UsageError(fmt.Errorf("unexpected argument: %s", args[most]))
	}
	_, wanted, _ := strings.Cut(c.Use, " ")
	if wanted == "" {
		return program.UsageError(errors.New("missing argument"))
	}
	return program.UsageError(fmt.Errorf("missing argument: %s needs %s", c.Name(), wanted))
}

// IDArgument reads a number that names something.
func IDArgument(what, text string) (client.ID, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return client.ID(strconv.FormatInt(n, 10)), nil
	}
	return "", program.UsageError(fmt.Errorf("%s must be a number but is %q", what, text))
}
