package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

type startCommand struct {
	remote
	session, revision, retry, priority, at string
	labels                                 []string
	dryRun                                 bool
	waiting                                waitFlags
}

// newStart returns the command that starts a session of a workflow.
func newStart(s cli.Streams) *cobra.Command {
	c := &startCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{
		Use:   "start project-name name --session TIME",
		Short: "Start a session of a workflow",
		Example: `  zerodag start myproj workflow1 --session 2016-01-01  # use this day as session_time
  zerodag start myproj workflow1 --session hourly      # use the beginning of this hour
  zerodag start myproj workflow1 --session daily       # use the beginning of this day
  zerodag start myproj workflow1 --session daily --at "2026-05-01 22:00:00"  # is created now and begins then`,
	}
	cmd.Flags().StringVar(&c.session, "session", "", "session `TIME`: hourly, daily, now, yyyy-MM-dd or \"yyyy-MM-dd HH:mm:ss\" (required)")
	cmd.Flags().StringVar(&c.revision, "revision", "", "use this `REVISION` instead of the latest")
	cmd.Flags().StringVar(&c.retry, "retry", "", "`NAME` of a further attempt of the same session")
	cmd.Flags().StringVar(&c.priority, "priority", "", "`PRIORITY` of the attempt and its tasks while they wait: highest, high, normal, low or lowest")
	cmd.Flags().StringVar(&c.at, "at", "", "begin at this `TIME`, at most 30 days from now: \"yyyy-MM-dd HH:mm:ss\" in the time zone of the workflow, or with an offset, such as 2026-05-01T09:00:00Z")
	cmd.Flags().StringArrayVar(&c.labels, "label", nil, "label `NAME=VALUE` for finding the attempt (may be repeated)")
	cmd.Flags().BoolVarP(&c.dryRun, "dry-run", "d", false, "show what would start, and start nothing")
	c.waiting.register(cmd)
	c.RegisterParams(cmd.Flags())
	return c.Command(cmd, 2, 2, func(ctx context.Context, args []string) error {
		if c.session == "" {
			return program.UsageError(errors.New("--session option is required"))
		}
		if err := c.waiting.check(&c.remote); err != nil {
			return err
		}
		return c.start(ctx, args[0], args[1])
	})
}

// sessionMode converts --session for the API.
func (c *startCommand) sessionMode() (text, mode string, err error) {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	switch c.session {
	case "hourly":
		return now, "hour", nil
	case "daily", "today", "yesterday":
		return now, "day", nil
	case "now":
		return now, "", nil
	}
	text, err = term.ParseTime(c.session, `--session must be hourly, daily, now, "yyyy-MM-dd", or "yyyy-MM-dd HH:mm:SS" format`)
	return text, "", err
}

func (c *startCommand) start(ctx context.Context, project, name string) error {
	if err := c.Begin(); err != nil {
		return err
	}
	params, err := c.Parameters(c.Settings)
	if err != nil {
		return err
	}
	labels, err := labelsOf(c.labels)
	if err != nil {
		return err
	}
	text, mode, err := c.sessionMode()
	if err != nil {
		return err
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	p, err := c.Project(ctx, project)
	if err != nil {
		return err
	}
	w, err := c.Workflow(ctx, p.ID, name, c.revision)
	if err != nil {
		return err
	}
	at, err := c.SessionTime(ctx, w.ID, text, mode)
	if err == nil && c.session == "yesterday" { // in the workflow's zone, in which a day need not have 24 hours
		at, err = c.SessionTime(ctx, w.ID, at.SessionTime.AddDate(0, 0, -1).Format("2006-01-02T15:04:05"), "")
	}
	if err != nil {
		return err
	}
	begins, err := c.beginsAt(ctx, w)
	if err != nil {
		return err
	}
	asked := client.Start{Workflow: w.ID, SessionTime: at.SessionTime, RetryName: c.retry, Params: params, Priority: c.priority, At: begins, Labels: labels}
	if c.dryRun {
		if err := c.checkStart(ctx, asked); err != nil {
			return err
		}
		err := c.showDryRun(w, at, params, labels)
		c.hintPaused(p)
		return err
	}
	a, err := c.Start(ctx, asked)
	if err != nil {
		return startError(err)
	}
	c.Warnings(a.Warnings)
	if err := c.showStarted(a, c.waiting); err != nil {
		return err
	}
	return c.waiting.until(ctx, &c.remote, a)
}

// checkStart asks the server whether it would start the attempt.
func (c *startCommand) checkStart(ctx context.Context, asked client.Start) error {
	plan, err := c.CheckStart(ctx, asked)
	switch {
	case client.IsMissing(err):
		c.Hint("warning: the server cannot check a start: it is unknown whether it would accept this one")
		return nil
	case err != nil:
		return startError(err)
	}
	c.Warnings(plan.Warnings)
	return nil
}

// startError adds the command that runs an existing session again.
func startError(err error) error {
	var exists *client.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("A session for the requested session_time already exists (session_id=%s, attempt_id=%s, session_time=%s)\nhint: use `zerodag retry %s --latest-revision --all` command to run the session again for the same session_time",
			exists.Attempt.SessionID, exists.Attempt.ID, term.OffsetText(exists.Attempt.SessionTime), exists.Attempt.ID)
	}
	return err
}

// labelsOf reads the values of --label; nil for none.
func labelsOf(values []string) (*param.Map, error) {
	var labels *param.Map
	for _, value := range values {
		name, text, isPair := strings.Cut(value, "=")
		switch {
		case !isPair || name == "" || text == "":
			return nil, program.UsageError(fmt.Errorf("--label must be NAME=VALUE, such as team=sales: %s", value))
		case labels.Has(name):
			return nil, program.UsageError(fmt.Errorf("--label %s is given twice", name))
		case labels == nil:
			labels = param.New()
		}
		labels.Set(name, text)
	}
	return labels, nil
}

// beginsAt returns the time of --at, zero for none. Without an offset, it is in the workflow's time zone, which the
// server knows.
func (c *startCommand) beginsAt(ctx context.Context, w client.Workflow) (time.Time, error) {
	if c.at == "" {
		return time.Time{}, nil
	}
	if t, ok := term.ParseOffset(c.at); ok {
		return t, nil
	}
	text, err := term.ParseLocal(c.at, `--at must be "yyyy-MM-dd", "yyyy-MM-dd HH:mm:SS" or yyyy-MM-ddTHH:mm:SS with an offset`)
	if err != nil {
		return time.Time{}, err
	}
	t, err := c.SessionTime(ctx, w.ID, text, "")
	return t.SessionTime, err
}

func (c *startCommand) showDryRun(w client.Workflow, at client.SessionTime, params, labels *param.Map) error {
	const none = "(dry run)"
	result := struct {
		Project     client.Ref `json:"project"`
		Workflow    client.Ref `json:"workflow"`
		SessionTime time.Time  `json:"sessionTime"`
		RetryName   string     `json:"retryAttemptName"`
		Params      *param.Map `json:"params"`
		Labels      *param.Map `json:"labels,omitempty"`
	}{w.Project, client.Ref{ID: w.ID, Name: w.Name}, at.SessionTime, c.retry, params, labels}
	err := c.Show(result, func(p cli.Printer) {
		p.Line("Session attempt:")
		p.Block("  ", "session id", none, "attempt id", none, "uuid", none, "project", w.Project.Name, "workflow", w.Name,
			"session time", cli.OffsetTime(at.SessionTime), "retry attempt name", c.retry, "params", params)
		printLabels(p, labels)
	})
	c.Hint("Session attempt is not started.")
	return err
}

// showStarted prints the output of `start`, `retry` and `fork`.
func (r *remote) showStarted(a client.Attempt, waiting waitFlags) error {
	if r.Ours() {
		begins, next := "", fmt.Sprintf(": `zerodag watch %s`", a.ID)
		if a.StartsAt != nil {
			begins = ", " + startsText(*a.StartsAt)
		}
		if waiting != (waitFlags{}) {
			next = ""
		}
		return r.Show(a, func(p cli.Printer) {
			p.Line("Started attempt %s of %s/%s for %s%s%s", a.ID, a.Project.Name, a.Workflow.Name, term.OffsetText(a.SessionTime), begins, next)
		})
	}
	err := r.Show(a, func(p cli.Printer) {
		p.Line("Started a session attempt:")
		p.Block("  ", "session id", a.SessionID, "attempt id", a.ID, "uuid", a.SessionUUID, "project", a.Project.Name, "workflow", a.Workflow.Name,
			"session time", cli.OffsetTime(a.SessionTime), "retry attempt name", a.RetryAttemptName, "params", a.Params, "created at", a.CreatedAt)
		if a.StartsAt != nil {
			p.Line("  %s", startsText(*a.StartsAt))
		}
		printLabels(p, a.Labels)
	})
	if waiting != (waitFlags{}) {
		return err
	}
	r.Hint("* Use `zerodag session %s` to show session status.", a.SessionID)
	r.Hint("* Use `zerodag task %s` and `zerodag log %s` to show task status and logs.", a.ID, a.ID)
	return err
}
