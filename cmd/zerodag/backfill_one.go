package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/attemptview"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// fillAsOne starts a backfill as one object.
func (c *backfillCommand) fillAsOne(ctx context.Context, args []string) error {
	if err := c.Begin(); err != nil {
		return err
	}
	params, err := c.Parameters(c.Settings)
	if err != nil {
		return err
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	f := c.fill
	f.From, f.To, f.Name, f.Count, f.Params = forAPI(c.from), forAPI(f.To), c.name, c.count, params
	f.Dates = slices.Clone(f.Dates)
	for i, date := range f.Dates {
		f.Dates[i] = forAPI(date)
	}
	var project string
	if f.Workflow, project, err = c.filledWorkflow(ctx, args); err != nil {
		return err
	}
	if c.dryRun {
		err := c.showFillPlan(ctx, f)
		c.hintPausedName(ctx, project)
		return err
	}
	b, err := c.Fill(ctx, f)
	if err != nil {
		return err
	}
	c.Warnings(b.Warnings)
	if c.wait {
		return c.awaitFilling(ctx, b)
	}
	err = c.Show(b, func(p cli.Printer) {
		p.Line("Started a backfill:")
		printFilling(p, b)
	})
	c.Hint("* Use `zerodag backfill show %s` to show its progress.", b.ID)
	c.Hint("* Use `zerodag backfill hold %s` to start no more sessions for now, and `zerodag backfill kill %s` to end it.", b.ID, b.ID)
	return err
}

// forAPI writes a time with an offset, which may have any form that the program prints, as the API expects it. The
// server reads all other forms.
func forAPI(text string) string {
	if t, ok := term.ParseOffset(text); ok {
		return t.Format(time.RFC3339Nano)
	}
	return text
}

// filledWorkflow returns the definition whose sessions are started, with or without a schedule, and the name of its
// project.
func (c *backfillCommand) filledWorkflow(ctx context.Context, args []string) (workflow client.ID, project string, err error) {
	if len(args) == 1 {
		s, err := c.Schedule(ctx, client.ID(args[0]))
		return s.Workflow.ID, s.Project.Name, err
	}
	p, err := c.Project(ctx, args[0])
	if err != nil {
		return "", "", err
	}
	w, err := c.Workflow(ctx, p.ID, args[1], "")
	return w.ID, p.Name, err
}

func (c *backfillCommand) showFillPlan(ctx context.Context, f client.Fill) error {
	plan, err := c.PlanFill(ctx, f)
	if err != nil {
		return err
	}
	c.Warnings(plan.Warnings)
	table := term.NewTable(term.Column{Title: "SESSION TIME", Name: true}, term.Column{Title: "LAST ATTEMPT"}, term.Column{Title: "STATUS"}, term.Column{Title: "WOULD BE"})
	for _, s := range plan.Rows {
		id, status, would := "", "", "started"
		if s.Last != nil {
			id, status = string(s.Last.ID), s.Last.Status
			would = "started again"
		}
		if s.LeftOut {
			would = "skipped"
		}
		table.Add(term.OffsetText(s.SessionTime), id, status, would)
	}
	err = c.List(plan, func(p cli.Printer) {
		p.Line("Sessions:")
		for _, s := range plan.Rows {
			p.Block("  ", "session time", cli.OffsetTime(s.SessionTime), "exists", s.Last != nil, "skipped", s.LeftOut)
		}
	}, table, "There are no sessions.")
	if n := plan.Total - len(plan.Rows); n > 0 {
		c.Hint("%s more are not shown.", term.Counted(n, "session"))
	}
	c.Hint("%s would start, %d would be skipped. Nothing was started.", term.Counted(plan.Total-plan.LeftOut, "session"), plan.LeftOut)
	return err
}

// awaitFilling waits for the end of a backfill and shows its result.
func (r *remote) awaitFilling(ctx context.Context, b client.Filling) error {
	before := ""
	for pause := attemptview.FollowFirst; b.FinishedAt == nil; pause = min(2*pause, attemptview.FollowLast) {
		if now := fillingProgress(b); now != before {
			r.Hint("Backfill %s is %s: %s.", b.ID, b.Status, now)
			before, pause = now, attemptview.FollowFirst
		}
		err := r.Wait(ctx, pause)
		if err == nil {
			b, err = r.Filling(ctx, b.ID)
		}
		if err != nil {
			if ctx.Err() != nil {
				r.Hint("The backfill continues: `zerodag backfill show %s` shows it again, `zerodag backfill kill %s` ends it.", b.ID, b.ID)
			}
			return err
		}
	}
	if err := r.Show(b, func(p cli.Printer) { printFilling(p, b) }); err != nil {
		return err
	}
	r.Hint("%s: %d succeeded, %d failed, %d skipped.", term.Counted(b.Sessions-b.NotBegun, "session"), b.Succeeded, b.Failed, b.LeftOut)
	if b.Status == "success" {
		return nil
	}
	r.Hint("`zerodag backfill show %s` lists the failed attempts; `zerodag retry --all-failed` retries their sessions.", b.ID)
	return program.ErrShown
}

// fillingProgress returns the progress of a backfill.
func fillingProgress(b client.Filling) string {
	text := fmt.Sprintf("%d of %s finished, %d running", b.Succeeded+b.Failed+b.LeftOut, term.Counted(b.Sessions, "session"), len(b.Running)-b.Waiting())
	if n := b.Waiting(); n > 0 {
		text += fmt.Sprintf(", %d waiting to start", n)
	}
	return text
}

func newBackfillList(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	open, last := false, ""
	c := &cobra.Command{Use: "list [project-name [name]]", Short: "Show backfills, newest first"}
	c.Flags().BoolVar(&open, "open", false, "show only unfinished backfills")
	c.Flags().StringVarP(&last, "last-id", "i", "", "show only backfills with ids below this `ID`")
	return r.Command(c, 0, 2, func(ctx context.Context, args []string) error {
		if err := r.Open(ctx); err != nil {
			return err
		}
		args = append(args, "", "")
		list, err := r.Fillings(ctx, args[0], args[1], open, client.ID(last))
		if err != nil {
			return err
		}
		table := term.NewTable(term.Column{Title: "BACKFILL"}, term.Column{Title: "PROJECT", Name: true}, term.Column{Title: "WORKFLOW", Name: true}, term.Column{Title: "STATUS"}, term.Column{Title: "SESSIONS"},
			term.Column{Title: "OK"}, term.Column{Title: "FAILED"}, term.Column{Title: "SKIPPED"}, term.Column{Title: "RUNNING"}, term.Column{Title: "STARTED"})
		for _, b := range list {
			table.Add(string(b.ID), b.Project.Name, b.Workflow.Name, b.Status, strconv.Itoa(b.Sessions), strconv.Itoa(b.Succeeded), strconv.Itoa(b.Failed), strconv.Itoa(b.LeftOut),
				strconv.Itoa(len(b.Running)-b.Waiting()), term.ShortTime(&b.CreatedAt))
		}
		return r.List(list, func(p cli.Printer) {
			p.Line("Backfills:")
			for _, b := range list {
				printFilling(p, b)
			}
			p.Line("%d entries.", len(list))
		}, table, "There are no backfills.")
	})
}

func newBackfillShow(s cli.Streams) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: "show backfill-id", Short: "Show a backfill and its progress"}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openBackfill(ctx, args)
		if err != nil {
			return err
		}
		b, err := r.Filling(ctx, id)
		if err != nil {
			return err
		}
		err = r.Show(b, func(p cli.Printer) {
			printFilling(p, b)
			for _, x := range b.Running {
				if x.AttemptID == nil {
					p.Block("  ", "waiting session", cli.OffsetTime(x.SessionTime), "since", x.Since)
					continue
				}
				p.Block("  ", "running session", cli.OffsetTime(x.SessionTime), "attempt id", *x.AttemptID, "since", x.Since)
			}
			if len(b.FailedAttempts) > 0 {
				p.Block("  ", "failed attempt ids", b.FailedAttempts)
			}
		})
		if b.FinishedAt == nil {
			r.hintPausedName(ctx, b.Project.Name)
		}
		return err
	})
}

// newBackfillChange returns the commands that pause, resume and kill a backfill.
func newBackfillChange(s cli.Streams, action, short string) *cobra.Command {
	r := &remote{cli.Remote{Streams: s}}
	c := &cobra.Command{Use: action + " backfill-id", Short: short}
	return r.Command(c, 1, 1, func(ctx context.Context, args []string) error {
		id, err := r.openBackfill(ctx, args)
		if err != nil {
			return err
		}
		b, err := r.ChangeFilling(ctx, id, action)
		if err != nil {
			return err
		}
		return r.Show(b, func(p cli.Printer) { printFilling(p, b) })
	})
}

// openBackfill reads the number of a backfill.
func (r *remote) openBackfill(ctx context.Context, args []string) (client.ID, error) {
	id, err := cli.IDArgument("backfill-id", args[0])
	if err != nil {
		return id, err
	}
	return id, r.Open(ctx)
}

func printFilling(p cli.Printer, b client.Filling) {
	p.Block("  ", "id", b.ID, "name", b.Name, "project", b.Project.Name, "workflow", b.Workflow.Name, "status", b.Status, "sessions", b.Sessions,
		"first session", cli.OffsetTime(b.First), "last session", cli.OffsetTime(b.Last), "not started", b.NotBegun, "running", len(b.Running)-b.Waiting(), "waiting to start", b.Waiting(), "succeeded", b.Succeeded, "failed", b.Failed, "skipped", b.LeftOut,
		"parallel", b.Parallel, "order", b.Order, "existing", b.Existing, "priority", b.Priority, "params", b.Params, "retry attempt name", b.AttemptName, "why", b.Why,
		"created at", b.CreatedAt, "finished at", b.FinishedAt)
}
