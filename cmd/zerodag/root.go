package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/cmd/zerodag/internal/operate"
	"zerodag/cmd/zerodag/internal/transfer"
	"zerodag/internal/configuration"
	"zerodag/internal/program"
)

// newRoot returns the root of the command tree.
func newRoot(s cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           program.Called(),
		Short:         "Runs workflows of the Digdag language",
		Long:          "zerodag is a workflow engine for data and batch jobs. It runs workflows (.dig files) locally, is the server that\nruns them on schedule, and is the client of such a server.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// An unknown command is reported as such, whatever options follow it.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		RunE:              func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return checkCommon(c) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(newInit(s), newRun(s), newCheck(s), newOperators(s), newDocs(s), newSchema(s), newCalendar(s), newServer(s), newScheduler(s), transfer.NewMigrate(s), transfer.NewBackup(s), transfer.NewRestore(s), operate.NewAWS(s))
	root.AddCommand(clientCommands(s)...)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Usage:{{if .Runnable}}\n  {{.UseLine}}", "Usage:{{if .Runnable}} {{.UseLine}}", 1)) // as Digdag writes it
	if program.AsDigdag() {
		help := root.HelpFunc()
		root.SetHelpFunc(func(c *cobra.Command, args []string) {
			c.SetOut(s.Err) // where scripts written for Digdag read it
			help(c, args)
		})
	}
	root.InitDefaultHelpCmd()
	knowTopics(root)
	root.InitDefaultCompletionCmd()
	groupCommands(root)
	refuseUnknown(root)
	completeCommands(root)
	completeArguments(root)
	return root
}

// groups lists the commands by purpose, in the order of the help.
func groups() []struct{ title, commands string } {
	return []struct{ title, commands string }{
		{"Run workflows", "init check run scheduler start retry fork backfill kill pause unpause"},
		{"Monitor sessions and attempts", "status watch sessions attempts attempt tasks log"},
		{"Projects and their schedules", "projects workflows push archive upload download delete secrets schedules enable disable reschedule calendar"},
		{"Run a server", "server migrate backup restore aws"},
		{"Administer a server", "admin alert pool tokens import whoami context"},
		{"Help", "docs operators schema completion version help"},
	}
}

// groupCommands sorts the program's help by the purpose of its commands.
func groupCommands(root *cobra.Command) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, name := range strings.Fields(g.commands) {
			if c, _, err := root.Find([]string{name}); err == nil {
				c.GroupID = g.title
			}
		}
	}
}

// knowTopics makes `help` refuse the names of unknown commands.
func knowTopics(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil || program.AsDigdag() {
		return
	}
	help.Run, help.RunE = nil, func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		switch {
		case err != nil:
			return program.UsageError(err)
		case len(rest) > 0 && c.HasSubCommands():
			return unknownCommand(c, rest[0])
		case len(rest) > 0:
			return program.UsageError(fmt.Errorf("%s has no subcommands: unknown command %q", c.CommandPath(), rest[0]))
		}
		c.InitDefaultHelpFlag()
		return c.Help()
	}
}

// refuseUnknown makes commands that only have subcommands refuse unknown ones. A command whose usage names arguments
// also does something itself.
func refuseUnknown(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.HasSubCommands() && !strings.Contains(c.Use, " ") {
			if !c.Runnable() {
				c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			}
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				return unknownCommand(c, args[0])
			}
		}
	}
}

// completeCommands adds the common options to every command that does not define them: all accept them, used or not, as
// in Digdag.
func completeCommands(root *cobra.Command) {
	for _, c := range root.Commands() {
		completeCommands(c)
		c.Example = strings.ReplaceAll(c.Example, program.Name+" ", program.Called()+" ")
		if c.Flags().Lookup("config") == nil {
			new(configuration.Flags).Register(c.Flags())
		}
	}
}

// checkCommon refuses invalid common options, whether or not a command uses them.
func checkCommon(c *cobra.Command) error {
	if f := c.Flags().Lookup("config"); f != nil && f.Changed && !program.AsDigdag() {
		if err := configuration.CheckFile(f.Value.String()); err != nil {
			return err
		}
	}
	if f := c.Flags().Lookup("log-level"); f != nil {
		if _, err := configuration.LogLevel(f.Value.String()); err != nil {
			return err
		}
	}
	return checkNumbers(c)
}

// checkNumbers refuses numbers below 0, which have no meaning for any option, and ids that are not numbers.
func checkNumbers(c *cobra.Command) (err error) {
	if program.AsDigdag() {
		return nil
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		text := f.Value.String()
		n, wrong := strconv.ParseInt(text, 10, 64)
		switch {
		case f.Value.Type() == "int" && wrong == nil && n < 0:
			err = program.UsageError(fmt.Errorf("--%s must be 0 or more but is %d", f.Name, n))
		case f.Value.Type() == "string" && (kind == "ID" || kind == "NUMBER") && wrong != nil && text != "":
			err = program.UsageError(fmt.Errorf("--%s must be a number but is %q", f.Name, text))
		}
	})
	return err
}
