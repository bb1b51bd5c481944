package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
)

// NewAdmin returns the commands that maintain a deployment.
func NewAdmin(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "admin",
		Short: "Maintain a deployment",
		RunE:  func(c *cobra.Command, _ []string) error { return cli.ShowUsage(c, s) },
	}
	c.AddCommand(newReady(s), newAudit(s), newServers(s), newQueue(s), newLimits(s), newSites(s), newNotices(s), newDeadLetters(s), newRedrive(s), newRevive(s))
	return c
}

func newReady(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "ready", Short: "Check whether the server is ready, for health checks of containers",
		Long: `Check whether the server is ready, as GET /readyz does: it can read and write its data and is not
shutting down. The command needs no login and asks once. Its exit code is 1 if the server is
not ready or does not answer.`}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Begin(); err != nil {
			return err
		}
		if err := r.Dial(); err != nil {
			return err
		}
		h, err := r.Ready(ctx)
		if err != nil {
			return err
		}
		if h.Reason != "" {
			return fmt.Errorf("the server is not ready: %s", unready(h.Reason))
		}
		return r.Show(h, func(p cli.Printer) { p.Line("The server is ready.") })
	})
}

// unready explains the reason that a probe gives.
func unready(reason string) string {
	switch reason {
	case "disk-full":
		return "its disk or database is full"
	case "read-only":
		return "its disk or database is read-only"
	case "store":
		return "its database or its store of logs does not answer"
	case "stopping":
		return "it is shutting down"
	}
	return reason
}

func newRedrive(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "redrive [ID...]", Short: "Send messages that could not be handled back to their queues",
		Long: `Send messages that could not be handled back to their queues now: all of them, or the ones
with the given IDs (see zerodag admin dead-letters). The tick does so automatically, at
growing intervals: use this command once the cause is fixed.`}
	return r.Command(c, 0, 1<<10, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		n, err := redrive(ctx, r, args)
		if err != nil {
			return err
		}
		result := struct {
			Messages int `json:"messages"`
		}{n}
		return r.Show(result, func(p cli.Printer) { p.Line("%s", sentBack(n)) })
	})
}

// redrive sends back the dead letters with the given ids, or all dead letters.
func redrive(ctx context.Context, r *cli.Remote, ids []string) (n int, err error) {
	if len(ids) == 0 {
		return r.Redrive(ctx)
	}
	return oneByOne(ids, "after %d of %d messages were sent back: %w", func(id string) (int, error) { return r.RedriveOne(ctx, id) })
}

// oneByOne calls send for each id and returns the sum of the results. An error after some were sent is formatted with
// after: how many of how many were sent, and the error.
func oneByOne(ids []string, after string, send func(id string) (int, error)) (n int, err error) {
	for _, id := range ids {
		one, err := send(id)
		if err != nil && n > 0 {
			err = fmt.Errorf(after, n, len(ids), err)
		}
		if err != nil {
			return n, err
		}
		n += one
	}
	return n, nil
}

func sentBack(n int) string {
	if n == 1 {
		return "Sent one message back."
	}
	return fmt.Sprintf("Sent %d messages back.", n)
}

func newRevive(s cli.Streams) *cobra.Command {
	r := &cli.Remote{Streams: s}
	c := &cobra.Command{Use: "revive", Short: "Send the missing messages of unfinished attempts again",
		Long: `Send the missing messages of unfinished attempts again, after the table of a deployment
on AWS was restored or its queues were lost. The command is safe at any time and can be
repeated: nothing runs twice because of it. Tasks that were running resume once it is certain
that no function works on them any more.

Servers with SQLite or PostgreSQL look for missing messages every minute and send them
again. On such a server the command does the same at once.`}
	return r.Command(c, 0, 0, func(ctx context.Context, _ []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		sum, err := r.Revive(ctx)
		if err != nil {
			return err
		}
		return r.Show(sum, func(p cli.Printer) {
			if sum.Together {
				p.Line("Checking %d unfinished attempts. Missing messages are sent again; a task that was running then runs again in about %v.", sum.Attempts, time.Duration(sum.WaitSeconds)*time.Second)
				return
			}
			p.Line("Checked %d unfinished attempts and sent %d messages.", sum.Attempts, sum.Messages)
			if sum.Messages > 0 {
				p.Line("Tasks that were running run again in about %v, unless they end before then.", time.Duration(sum.WaitSeconds)*time.Second)
			}
		})
	})
}
