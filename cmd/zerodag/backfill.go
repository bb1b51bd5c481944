package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

type backfillCommand struct {
	remote
	from, name string
	count      int
	dryRun     bool
	fill       client.Fill // of a backfill as one object
	wait       bool
	isNamed    bool // by the user; otherwise the name is random
}

// newBackfill returns the command that starts past sessions of a workflow: one after the other, as in Digdag, or as one
// object.
func newBackfill(s cli.Streams) *cobra.Command {
	c := &backfillCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{Use: "backfill schedule-id | project-name name --from TIME", Short: "Start past sessions of a workflow", Args: cobra.ArbitraryArgs,
		Example: `  zerodag backfill shop nightly --from 2026-01-01                  # one after the other, up to the next session of the schedule
  zerodag backfill shop nightly --from 2026-01-01 --to 2026-01-31 --parallel 5 --existing skip
  zerodag backfill shop by_hand --from 2026-01-01 --to 2026-03-31 --every 1w
  zerodag backfill shop nightly --dates 2026-01-03,2026-01-17 --existing retry -p full=true`}
	flags := cmd.Flags()
	flags.StringVarP(&c.from, "from", "f", "", "`TIME` of the first session: \"yyyy-MM-dd[ HH:mm:ss]\" (required without --dates)")
	flags.StringVar(&c.name, "name", "", "retry attempt `NAME` of all sessions or, with an option that Digdag does not have, such as --to, the name of the backfill: a repeated name starts no session twice (default: random; without such an option, sessions that have already run are then refused)")
	flags.IntVar(&c.count, "count", 0, "`NUMBER` of sessions (default: all up to the last one)")
	flags.BoolVarP(&c.dryRun, "dry-run", "d", false, "show what would start, and start nothing")
	flags.StringVar(&c.fill.To, "to", "", "`TIME` of the last session; a date includes the whole day (default: the last session before the next one of the schedule)")
	flags.StringSliceVar(&c.fill.Dates, "dates", nil, "only the sessions at these `TIMES`; a date means all sessions of the schedule on that day")
	flags.StringVar(&c.fill.Every, "every", "", "`STEP` between sessions: 30m, 12h, 1d or 1w (default: that of the schedule)")
	flags.IntVar(&c.fill.Parallel, "parallel", 0, "run up to `NUMBER` sessions at once (default: 1)")
	flags.StringVar(&c.fill.Order, "order", "", "`ORDER` in which sessions start, by session time: asc or desc (default: asc)")
	flags.StringVar(&c.fill.Existing, "existing", "", "`WHAT` to do about sessions that already exist: error, skip or retry (default: start another attempt of each)")
	flags.StringVar(&c.fill.Priority, "priority", "", "`PRIORITY` of the attempts and their tasks while they wait: highest, high, normal, low or lowest (default: low)")
	flags.BoolVar(&c.wait, "wait", false, "wait until the backfill ends; exit code 0 only if every session succeeded")
	c.RegisterParams(cmd.Flags())
	cmd.AddCommand(newBackfillList(s), newBackfillShow(s), newBackfillChange(s, "hold", "Hold a backfill: no more sessions start, running ones continue"),
		newBackfillChange(s, "release", "Resume a held backfill"), newBackfillChange(s, "kill", "End a backfill: no more sessions start, running ones are killed"))
	return c.Command(cmd, 0, 2, func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return cli.WrongCount(cmd, s, args, 2)
		}
		if err := c.check(cmd, args); err != nil {
			return err
		}
		c.isNamed = c.name != ""
		if !c.isNamed {
			c.name = host.NewUUID()
		}
		if c.isOneThing(cmd) {
			return c.fillAsOne(ctx, args)
		}
		b := client.Backfill{Name: c.name, DryRun: c.dryRun}
		if cmd.Flags().Changed("count") {
			b.Count = &c.count
		}
		return c.backfill(ctx, args, b)
	})
}

// ofOneThing returns the options that Digdag does not have: with one of them, the backfill is one object.
func ofOneThing() []string {
	return []string{"to", "dates", "every", "parallel", "order", "existing", "priority", "param", "params-file", "wait"}
}

func (c *backfillCommand) isOneThing(cmd *cobra.Command) bool {
	return slices.ContainsFunc(ofOneThing(), cmd.Flags().Changed)
}

func (c *backfillCommand) check(cmd *cobra.Command, args []string) error {
	switch {
	case c.from == "" && len(c.fill.Dates) == 0:
		return program.UsageError(errors.New("--from option is required"))
	case turnedRound(c.from, c.fill.To) && len(c.fill.Dates) == 0:
		return program.UsageError(fmt.Errorf("--to %s is before --from %s", c.fill.To, c.from))
	case cmd.Flags().Changed("count") && c.count < 1 && !program.AsDigdag():
		return program.UsageError(fmt.Errorf("--count must be 1 or more but is %d", c.count))
	case cmd.Flags().Changed("parallel") && c.fill.Parallel < 1:
		return program.UsageError(fmt.Errorf("--parallel must be 1 or more but is %d", c.fill.Parallel))
	case c.wait && c.dryRun:
		return program.UsageError(errors.New("--wait and --dry-run cannot be used together: a dry run starts nothing"))
	case len(args) == 1:
		_, err := cli.IDArgument("schedule-id", args[0])
		return err
	}
	return nil
}

// turnedRound reports whether to is before from; a day given as to is included entirely.
func turnedRound(from, to string) bool {
	if begin, isInstant := term.ParseOffset(from); isInstant {
		end, both := term.ParseOffset(to)
		return both && end.Before(begin)
	}
	first, err := term.ParseLocal(from, "")
	last, wrong := term.ParseLocal(to, "")
	if err != nil || wrong != nil {
		return false // it is refused elsewhere
	}
	if !strings.Contains(to, ":") {
		first, last = first[:len(time.DateOnly)], last[:len(time.DateOnly)]
	}
	return last < first
}

func (c *backfillCommand) backfill(ctx context.Context, args []string, b client.Backfill) error {
	if err := c.Open(ctx); err != nil {
		return err
	}
	schedule, err := c.oneSchedule(ctx, args)
	if err != nil {
		return err
	}
	read := term.ParseTime
	if program.AsDigdag() {
		read = term.ParseLocal
	}
	text, err := read(c.from, `--from must be "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`)
	if err != nil {
		return err
	}
	at, err := c.SessionTime(ctx, schedule.Workflow.ID, text, "")
	if err != nil {
		return err
	}
	b.From = at.SessionTime
	if !c.isNamed && !program.AsDigdag() {
		if err := c.refuseRepeated(ctx, schedule, b); err != nil {
			return c.tooLate(err, at.SessionTime, schedule)
		}
	}
	list, err := c.Backfill(ctx, schedule.ID, b)
	if err != nil {
		return c.tooLate(err, at.SessionTime, schedule)
	}
	err = c.Show(list, func(p cli.Printer) {
		p.Line("Session attempts:")
		for _, a := range list {
			p.Block("  ", "id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
				"session time", cli.OffsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params, "created at", a.CreatedAt)
		}
	})
	if c.dryRun || len(list) == 0 {
		c.Hint("No session attempts started.")
		if len(list) == 0 && !at.SessionTime.Before(schedule.NextScheduleTime) && !program.AsDigdag() {
			c.Hint("%s", c.notPast(schedule))
		}
		c.hintPausedName(ctx, schedule.Project.Name)
		return err
	}
	c.Hint("Backfill session attempts started.")
	c.Hint("Use `zerodag sessions` to show the session attempts.")
	return err
}

// tooLate adds a hint if --from is not before the next session of the schedule, at which a backfill ends.
func (c *backfillCommand) tooLate(err error, from time.Time, s client.Schedule) error {
	if program.AsDigdag() || from.Before(s.NextScheduleTime) {
		return err
	}
	return fmt.Errorf("%w\nhint: %s", err, c.notPast(s))
}

func (c *backfillCommand) notPast(s client.Schedule) string {
	return fmt.Sprintf("--from %s is too late: a backfill only starts sessions before the schedule's next one, %s", c.from, term.Time(s.NextScheduleTime))
}

// sessionPage is how many sessions are read at once, the most that any server returns.
const sessionPage = 100

// refuseRepeated refuses a backfill without a name if one of its sessions ran before: with its random name, it would
// run all of them again.
func (c *backfillCommand) refuseRepeated(ctx context.Context, schedule client.Schedule, b client.Backfill) error {
	b.DryRun = true
	planned, err := c.Backfill(ctx, schedule.ID, b)
	if err != nil || len(planned) == 0 {
		return err
	}
	times := map[int64]bool{}
	for _, a := range planned {
		times[a.SessionTime.Unix()] = true
	}
	for last := client.ID(""); ; {
		page, err := c.Sessions(ctx, schedule.Project.ID, schedule.Workflow.Name, client.Page{Last: last, Count: sessionPage})
		if err != nil {
			return err
		}
		for _, s := range page {
			if last = s.ID; times[s.SessionTime.Unix()] {
				return fmt.Errorf("session %s of %s has already run, so nothing was started\nhint: --name NAME runs all of these sessions again, --existing skip only starts sessions that have not run",
					s.SessionTime.Format(time.RFC3339), schedule.Workflow.Name)
			}
		}
		if len(page) == 0 { // a server may return fewer than requested
			return nil
		}
	}
}
