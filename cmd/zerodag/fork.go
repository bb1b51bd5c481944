package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
)

// newFork returns the command that starts another attempt of a session from a point in an earlier one.
func newFork(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	var name string
	var at int64
	var wait waitFlags
	c := &cobra.Command{Use: "fork attempt-id --at ENTRY", Short: "Start another attempt of a session from a point in the attempt's history"}
	flags := c.Flags()
	flags.Int64Var(&at, "at", 0, "`ENTRY` of the attempt's history to fork after: tasks that had succeeded by then do not run again")
	flags.StringVar(&name, "name", "", "unique `NAME` of the new attempt (default: a random one)")
	wait.register(c)
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		if at < 1 {
			return program.UsageError(fmt.Errorf("--at ENTRY is required: the number of an entry of the attempt's history, which the web console shows in its address (at=ENTRY)"))
		}
		if err := wait.check(r); err != nil {
			return err
		}
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Fork(ctx, id, client.Fork{Entry: at, RetryName: cmp.Or(name, host.NewUUID())})
		if err != nil {
			return err
		}
		if err := r.showStarted(a, wait); err != nil {
			return err
		}
		return wait.until(ctx, r, a)
	})
}
