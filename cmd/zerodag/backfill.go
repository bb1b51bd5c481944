package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
	"zerodag/internal/host"
)

type backfillCommand struct {
	remote
	from, name string
	count      int
	parallel   int
	dryRun     bool
}

// newBackfill starts past sessions of a schedule.
func newBackfill(s streams) *cobra.Command {
	c := &backfillCommand{remote: remote{streams: s}}
	cmd := &cobra.Command{Use: "backfill schedule-id | project-name name --from TIME", Short: "Start past sessions of a schedule"}
	flags := cmd.Flags()
	flags.StringVarP(&c.from, "from", "f", "", "`TIME` of the first session: \"yyyy-MM-dd[ HH:mm:ss]\" (required)")
	flags.StringVar(&c.name, "name", "", "retry attempt `NAME` of all of them (default: a random one)")
	flags.IntVar(&c.count, "count", 0, "`NUMBER` of sessions (default: all up to the next one of the schedule)")
	flags.IntVar(&c.parallel, "parallel", 0, "run up to `NUMBER` sessions at once, and wait for all: exit code 0 only if each is a success (default: the server runs one after the other)")
	flags.BoolVarP(&c.dryRun, "dry-run", "d", false, "only show what would be started")
	return c.command(cmd, 0, 2, func(ctx context.Context, args []string) error {
		switch {
		case c.from == "":
			return usageError{errors.New("--from option is required")}
		case cmd.Flags().Changed("count") && c.count < 1 && !asDigdag():
			return usageError{fmt.Errorf("--count must be 1 or more but is %d", c.count)}
		case cmd.Flags().Changed("parallel") && c.parallel < 1:
			return usageError{fmt.Errorf("--parallel must be 1 or more but is %d", c.parallel)}
		case len(args) == 0:
			return wrongCount(cmd, s, args, 2)
		}
		if len(args) == 1 {
			if _, err := idArgument("schedule-id", args[0]); err != nil {
				return err
			}
		}
		b := client.Backfill{Name: c.name, DryRun: c.dryRun}
		if cmd.Flags().Changed("count") {
			b.Count = &c.count
		}
		if b.Name == "" {
			b.Name = host.NewUUID()
		}
		return c.backfill(ctx, args, b)
	})
}

func (c *backfillCommand) backfill(ctx context.Context, args []string, b client.Backfill) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	schedule, err := c.oneSchedule(ctx, args)
	if err != nil {
		return err
	}
	text, err := parseLocal(c.from, `--from must be "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`)
	if err != nil {
		return err
	}
	at, err := c.SessionTime(ctx, schedule.Workflow.ID, text, "")
	if err != nil {
		return err
	}
	b.From = at.SessionTime
	side := c.parallel > 0 && !c.dryRun
	b.DryRun = b.DryRun || side // the server says which sessions there are
	list, err := c.Backfill(ctx, schedule.ID, b)
	if err != nil {
		return err
	}
	if side && len(list) > 0 {
		b.DryRun = false
		all := &sideBySide{backfillCommand: c, schedule: schedule.ID, request: b, most: c.parallel, args: args, left: list, over: []client.Attempt{}}
		err := all.run(ctx)
		return cmp.Or(c.show(all.over, func(printer) {}), err)
	}
	err = c.show(list, func(p printer) {
		p.line("Session attempts:")
		for _, a := range list {
			p.block("  ", "id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
				"session time", offsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params, "created at", a.CreatedAt)
		}
	})
	if c.dryRun || len(list) == 0 {
		c.hint("No session attempts started.")
		return err
	}
	c.hint("Backfill session attempts started.")
	c.hint("Use `zerodag sessions` to show the session attempts.")
	return err
}
