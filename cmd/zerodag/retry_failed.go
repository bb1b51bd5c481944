package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/overview"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// checkFailed refuses options that are invalid with --all-failed, or without it.
func (c *retryCommand) checkFailed(args []string) error {
	switch {
	case !c.failed && (c.since != "" || c.before != ""):
		return program.UsageError(errors.New("--from and --to are options of --all-failed"))
	case c.dryRun && c.waiting != (waitFlags{}):
		return program.UsageError(errors.New("--wait and --dry-run cannot be used together: a dry run starts nothing"))
	case !c.failed:
		return nil
	case c.since == "":
		return program.UsageError(errors.New("--all-failed requires --from TIME, the session time of the first session to retry"))
	case c.name != "" || c.from != "" || c.waiting != (waitFlags{}):
		return program.UsageError(errors.New("--name, --resume-from, --wait and --follow are for a single session and cannot be used with --all-failed"))
	case len(args) > 2:
		return program.UsageError(fmt.Errorf("unexpected argument: %s", args[2]))
	}
	return nil
}

// retryFailed retries each session in a time range whose last attempt failed, earliest first. args may name a project,
// and one of its workflows. A session that cannot be retried does not affect the others.
func (c *retryCommand) retryFailed(ctx context.Context, args []string) error {
	if err := c.Open(ctx); err != nil {
		return err
	}
	list, err := c.failedSessions(ctx, args)
	if err != nil {
		return err
	}
	if c.dryRun {
		err := c.Show(list, func(p cli.Printer) { c.showTable(p, sessionTable(list)) })
		c.Hint("%s failed. Nothing was retried.", term.Counted(len(list), "session"))
		return err
	}
	started, failed := []client.Attempt{}, []error(nil)
	for _, s := range list {
		a, err := c.again(ctx, s.LastAttempt.ID, host.NewUUID())
		switch {
		case ctx.Err() != nil:
			failed = append(failed, fmt.Errorf("interrupted: %d sessions were not retried", len(list)-len(started)-len(failed)))
		case err != nil:
			failed = append(failed, fmt.Errorf("session %s of %s/%s: %w", s.ID, s.Project.Name, s.Workflow.Name, err))
		default:
			started = append(started, a)
			continue
		}
		if ctx.Err() != nil {
			break
		}
	}
	err = c.Show(started, func(p cli.Printer) { c.showTable(p, attemptTable(time.Now(), started)) })
	c.Hint("%s retried.", term.Counted(len(started), "session"))
	return errors.Join(append([]error{err}, failed...)...)
}

func (c *retryCommand) showTable(p cli.Printer, t *term.Table) {
	columns, ink := term.Look(c.Out)
	if !t.Empty() {
		p.WriteString(t.Text(c.Format == cli.WideForm, columns, ink))
	}
}

// bound returns a function that reports whether a session time is before the time of an option. Without an offset, the
// option's time is in each session's own zone.
func bound(option, text string) (func(time.Time) bool, error) {
	if end, ok := term.ParseOffset(text); ok {
		return func(t time.Time) bool { return t.Before(end) }, nil
	}
	end, err := term.ParseLocal(text, option+` must be "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`)
	if err != nil {
		return nil, err
	}
	return func(t time.Time) bool { return t.Format("2006-01-02T15:04:05") < end }, nil
}

// failedSessions returns the sessions in the requested time range whose last attempt failed, earliest first.
func (c *retryCommand) failedSessions(ctx context.Context, args []string) ([]client.Session, error) {
	isBefore, err := bound("--from", c.since)
	if err != nil {
		return nil, err
	}
	inRange := func(t time.Time) bool { return !isBefore(t) }
	if c.before != "" {
		ends, err := bound("--to", c.before)
		if err != nil {
			return nil, err
		}
		inRange = func(t time.Time) bool { return !isBefore(t) && ends(t) }
	}
	var project client.ID
	workflow := ""
	if len(args) > 0 {
		p, err := c.Project(ctx, args[0])
		if err != nil {
			return nil, err
		}
		project = p.ID
	}
	if len(args) > 1 {
		workflow = args[1]
	}
	list := []client.Session{}
	partly, err := overview.Pages(func(p client.Page) ([]client.Session, error) { return c.Sessions(ctx, project, workflow, p) }, func(s client.Session) (client.ID, bool) {
		if a := s.LastAttempt; a != nil && a.Done && !a.Success && inRange(s.SessionTime) {
			list = append(list, s)
		}
		return s.ID, false
	})
	if err == nil && partly {
		err = fmt.Errorf("there are more than %d sessions: name a project and a workflow; nothing was retried", overview.Most)
	}
	slices.SortStableFunc(list, func(a, b client.Session) int { return a.SessionTime.Compare(b.SessionTime) })
	return list, err
}
