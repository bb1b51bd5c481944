package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/connection"
)

// Remote is a command that talks to a server.
type Remote struct {
	connection.Choice
	Streams
	Format string
	*client.Client
}

// Command makes c a client command that takes from least to most arguments.
func (r *Remote) Command(c *cobra.Command, least, most int, do func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return WrongCount(cmd, r.Streams, args, most)
		}
		if err := r.CheckFormat(); err != nil {
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
	r.RegisterFormat(c)
	r.Flags.Register(c.Flags())
	_ = c.RegisterFlagCompletionFunc("context", CompleteContexts) // the flag exists
	return c
}

// Begin reads the configuration, before anything else.
func (r *Remote) Begin() error {
	if r.Format == DigdagForm {
		r.Announce()
	}
	var err error
	if r.Settings, err = r.Load(); err == nil {
		r.Tell(r.Err, r.Settings)
	}
	return err
}

// Open connects to the server, after checking that it is compatible.
func (r *Remote) Open(ctx context.Context) error {
	if r.Settings == nil {
		if err := r.Begin(); err != nil {
			return err
		}
	}
	if err := r.Dial(); err != nil {
		return err
	}
	return r.CheckVersion(ctx, r.Client, r.In, r.Err)
}

// Dial creates the client; nothing is sent yet.
func (r *Remote) Dial() (err error) {
	r.Client, err = r.Connect(r.ProgramVersion, r.Err)
	return err
}

// CompleteContexts proposes the names of contexts.
func CompleteContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names, _ := connection.Names() // there is no place for errors during completion
	return names, cobra.ShellCompDirectiveNoFileComp
}
