package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators"
	"zerodag/internal/serverconfig"
	"zerodag/internal/serverrun"
)

// serverCommand implements `zerodag server`.
type serverCommand struct {
	serverconfig.CommandLine
	cli.Streams
	local *serverrun.Project // of `zerodag scheduler`
}

// newServer returns the command that serves the API and runs schedules and tasks.
func newServer(s cli.Streams) *cobra.Command {
	c := &serverCommand{Streams: s, CommandLine: serverconfig.CommandLine{Version: version()}}
	cmd := &cobra.Command{
		Use:   "server [options...]",
		Short: "Run a server: REST API, schedules and tasks on this machine",
		Long: `Run a server: REST API, schedules and tasks on this machine.

Without options it listens on 127.0.0.1:65432 and keeps its data in ./` + serverconfig.DataFolder + `. Clients of
Digdag and the other subcommands of this program use it. Killed at any moment, it
continues all attempts at its next start.`,
		Args: cli.UpTo(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), cmd.Flags()) },
	}
	c.Register(cmd.Flags(), "./"+serverconfig.DataFolder, "with the data")
	return cmd
}

func (c *serverCommand) run(ctx context.Context, flags *pflag.FlagSet) error {
	r, err := c.Read(flags)
	if err != nil {
		return err
	}
	format := r.OneOf(configuration.LogFormatKey, serverconfig.TextLog, serverconfig.JSONLog)
	level := r.LogLevel()
	if format != serverconfig.JSONLog {
		c.Announce()
	}
	pool := evaluators.New("")
	defer pool.Close()
	o, err := c.Options(r, pool)
	if err != nil {
		return err
	}
	out, closeLog, err := c.LogWriter(c.Out)
	if err != nil {
		return err
	}
	defer closeLog()
	logger, flush := serverrun.NewLog(out, level, format)
	defer flush()
	return serverrun.Run(ctx, o, c.local, logger)
}
