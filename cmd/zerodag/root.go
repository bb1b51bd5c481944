package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot makes the command tree.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "zerodag",
		Short:         "Runs workflows of the Digdag language",
		Long:          "zerodag runs workflows of the Digdag language (.dig files) on this machine.",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		// A wrong command is told as such, whatever options follow it.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		RunE: func(c *cobra.Command, _ []string) error { return showUsage(c, s) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(newInit(s), newRun(s), newCheck(s), newOperators(s), newServer(s), newScheduler(s), newMigrate(s), newBackup(s), newRestore(s))
	root.AddCommand(clientCommands(s)...)
	return root
}

func commandNames(c *cobra.Command) string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return strings.Join(names, ", ")
}

// upTo accepts no more than n arguments.
func upTo(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("unexpected argument: %s", args[n])}
		}
		return nil
	}
}

// showUsage is for a command that only holds others.
func showUsage(c *cobra.Command, s streams) error {
	_, err := fmt.Fprint(s.err, c.UsageString())
	return err
}
