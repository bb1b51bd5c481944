package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
)

// newPause returns the command that pauses an attempt: nothing new begins.
func newPause(s cli.Streams) *cobra.Command {
	r, reason := &remote{cli.Remote{Streams: s}}, ""
	c := &cobra.Command{Use: "pause attempt-id", Short: "Pause an attempt: no new task starts, running ones finish"}
	c.Flags().StringVar(&reason, "reason", "", "`REASON` for the pause, shown to users")
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Pause(ctx, id, reason)
		if err != nil {
			return err
		}
		text := "Session attempt %s is paused"
		if !r.pauseSeen(ctx, id, true) {
			text = "Pause requested for session attempt %s"
		}
		if err := r.Show(a, func(p cli.Printer) { p.Line(text, id) }); err != nil {
			return err
		}
		r.Hint("Running tasks finish. `zerodag unpause %s` resumes the attempt.", id)
		return nil
	})
}

// newUnpause returns the command that resumes a paused attempt.
func newUnpause(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "unpause attempt-id", Short: "Resume a paused attempt"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openAttempt(ctx, args[0])
		if err != nil {
			return err
		}
		a, err := r.Unpause(ctx, id)
		if err != nil {
			return err
		}
		text := "Session attempt %s continues"
		if !r.pauseSeen(ctx, id, false) {
			text = "Resume requested for session attempt %s"
		}
		return r.Show(a, func(p cli.Printer) { p.Line(text, id) })
	})
}

// longestPause is how long a command waits until an attempt is paused; the request is a message in a queue.
const longestPause = 5 * time.Second

// pauseSeen waits until an attempt reports the paused state, and returns whether it did so in time.
func (r *remote) pauseSeen(ctx context.Context, id client.ID, paused bool) bool {
	ctx, stop := context.WithTimeout(ctx, longestPause)
	defer stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if a, err := r.Attempt(ctx, id); err == nil && (a.Done || (a.Paused != nil) == paused) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
