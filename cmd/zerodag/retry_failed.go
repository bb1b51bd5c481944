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
		return program.UsageError(errors.New("--wait waits for what --dry-run does not start: use one of them"))
	case !c.failed:
		return nil
	case c.since == "":
		return program.UsageError(errors.New("--all-failed needs --from TIME: the session time from which on failed sessions are retried"))
	case c.name != "" || c.from != "" || c.waiting != (waitFlags{}):
		return program.UsageError(errors.New("--name, --resume-from, --wait and --follow are for one session, not for --all-failed"))
	case len(args) > 2:
		return program.UsageError(fmt.Errorf("unexpected argument: %s", args[2]))
	}
	return nil
}

// retryFailed retries each session in a time range whose last attempt failed, earliest first. args may name a project,
// and a workflow of it. A session that cannot be retried does not affect the others.
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
			failed = append(failed, fmt.Errorf("%d sessions were not retried any more", len(list)-len(started)-len(failed)))
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

// failedSessions returns the sessions in the requested time range whose last attempt failed, earliest first. The time
// is in each session's own zone.
func (c *retryCommand) failedSessions(ctx context.Context, args []string) ([]client.Session, error) {
	since, err := term.ParseLocal(c.since, `--from must be "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`)
	if err != nil {
		return nil, err
	}
	before := ""
	if c.before != "" {
		if before, err = term.ParseLocal(c.before, `--to must be "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`); err != nil {
			return nil, err
		}
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
		at, a := s.SessionTime.Format("2006-01-02T15:04:05"), s.LastAttempt
		if a != nil && a.Done && !a.Success && at >= since && (before == "" || at < before) {
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
