package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

type rescheduleCommand struct {
	remote
	skip      int
	to, runAt string
	dryRun    bool
}

// newReschedule returns the command that skips sessions of a schedule.
func newReschedule(s cli.Streams) *cobra.Command {
	c := &rescheduleCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{Use: "reschedule schedule-id | project-name name", Short: "Skip sessions of a schedule"}
	flags := cmd.Flags()
	flags.IntVarP(&c.skip, "skip", "s", 0, "skip the next `NUMBER` of sessions")
	flags.StringVarP(&c.to, "skip-to", "t", "", "skip sessions before this `TIME`: \"yyyy-MM-dd HH:mm:ss Z\" or now")
	flags.StringVarP(&c.runAt, "run-at", "a", "", "run next at this `TIME`: \"yyyy-MM-dd HH:mm:ss Z\"")
	flags.BoolVarP(&c.dryRun, "dry-run", "d", false, "only show what would change")
	return c.Command(cmd, 0, 2, func(ctx context.Context, args []string) error {
		switch {
		case c.to != "" && c.skip > 0:
			return errors.New("-s and -t can't be set together")
		case c.to == "" && c.skip <= 0:
			return program.UsageError(errors.New("-s or -t is required"))
		case len(args) == 0:
			return cli.WrongCount(cmd, s, args, 2)
		}
		if len(args) == 1 {
			if _, err := cli.IDArgument("schedule-id", args[0]); err != nil {
				return err
			}
		}
		return c.reschedule(ctx, args)
	})
}

func (c *rescheduleCommand) reschedule(ctx context.Context, args []string) error {
	now := time.Now().Truncate(time.Second)
	skip := client.Skip{From: now, Count: c.skip, DryRun: c.dryRun}
	if c.to != "" {
		to := now
		if c.to != "now" {
			var err error
			if to, err = term.ParseInstant(c.to, "-t, --skip-to"); err != nil {
				return err
			}
		}
		skip.To = to.UTC().Format(time.RFC3339)
	}
	if c.runAt != "" {
		var err error
		if skip.Run, err = term.ParseInstant(c.runAt, "-a, --run-at"); err != nil {
			return err
		}
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	id := client.ID(args[0])
	if len(args) == 2 {
		one, err := c.oneSchedule(ctx, args)
		if err != nil {
			return err
		}
		id = one.ID
	}
	changed, err := c.Skip(ctx, id, skip)
	if err != nil {
		return err
	}
	err = c.Show(changed, func(p cli.Printer) {
		p.Block("  ", "id", changed.ID, "workflow", changed.Workflow.Name, "disabled at", term.Away(now, changed.DisabledAt),
			"next session time", cli.OffsetTime(changed.NextScheduleTime), "next scheduled to run at", term.Away(now, &changed.NextRunTime))
	})
	if c.dryRun {
		c.Hint("Schedule is not updated.")
	} else {
		c.Hint("Use `zerodag schedules` to show schedules.")
	}
	return err
}
