package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/connection"
)

// remote is a command that talks to a server.
type remote struct {
	connection.Choice
	streams
	format string
	*client.Client
}

// clientCommands are those that talk to a server.
func clientCommands(s streams) []*cobra.Command {
	return []*cobra.Command{
		newProjects(s), newWorkflows(s), newStart(s), newRetry(s), newFork(s), newKill(s), newPause(s), newUnpause(s), newDelete(s),
		newStatus(s), newWatch(s), newSessions(s), newAttempts(s), newAttempt(s), newTasks(s),
		newSchedules(s), newReschedule(s), newBackfill(s), newEnable(s), newDisable(s),
		newPush(s), newUpload(s), newArchive(s), newDownload(s), newLog(s), newSecrets(s), newImport(s), newTokens(s), newPool(s), newAdmin(s), newWhoami(s), newVersion(s), newContext(s),
	}
}

// command makes c a client command, which takes from least to most arguments.
func (r *remote) command(c *cobra.Command, least, most int, do func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return wrongCount(cmd, r.streams, args, most)
		}
		if err := r.checkFormat(); err != nil {
			return err
		}
		err := do(cmd.Context(), args)
		if err != nil && cmd.Context().Err() != nil {
			return errors.New("interrupted")
		}
		attempt := ""
		if strings.Contains(cmd.Use, "attempt-id") && len(args) > 0 {
			attempt = args[0]
		}
		return connection.Explain(cmd.Context(), r.Client, err, attempt)
	}
	r.Register(c.Flags())
	r.registerFormat(c)
	r.Flags.Register(c.Flags())
	_ = c.RegisterFlagCompletionFunc("context", completeContexts) // the flag is there
	return c
}

// begin reads the configuration, before anything is done.
func (r *remote) begin() error {
	if !r.ours() {
		banner(r.err)
	}
	var err error
	if r.Settings, err = r.Load(); err == nil {
		r.Tell(r.err, r.Settings)
	}
	return err
}

// open is ready to talk to the server, which was asked whether it works with us.
func (r *remote) open(ctx context.Context) error {
	if r.Settings == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if err := r.dial(); err != nil {
		return err
	}
	return r.CheckVersion(ctx, r.Client, r.in, r.err)
}

// dial makes the client; nothing is sent yet.
func (r *remote) dial() (err error) {
	r.Client, err = r.Connect(version(), r.err)
	return err
}
