package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/host"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

type retryCommand struct {
	remote
	name, revision, from      string
	priority                  string
	latest, keep, all, resume bool
	waiting                   waitFlags
	failed, dryRun            bool
	since, before             string
	only, until               string
	marked                    []string
}

// newRetry returns the command that starts another attempt of a session.
func newRetry(s cli.Streams) *cobra.Command {
	c := &retryCommand{remote: remote{cli.Remote{Streams: s}}}
	cmd := &cobra.Command{Use: "retry attempt-id | --all-failed [project-name [name]] --from TIME", Short: "Start another attempt of a session, or of all failed sessions"}
	flags := cmd.Flags()
	flags.StringVar(&c.name, "name", "", "unique `NAME` of the new attempt (default: a random one)")
	flags.BoolVar(&c.latest, "latest-revision", false, "use the latest revision")
	flags.BoolVar(&c.keep, "keep-revision", false, "keep the revision")
	flags.StringVar(&c.revision, "revision", "", "use this `REVISION`")
	flags.BoolVar(&c.all, "all", false, "run all tasks")
	flags.BoolVar(&c.resume, "resume", false, "run only tasks that did not succeed")
	flags.StringVar(&c.from, "resume-from", "", "start from this `+TASK`")
	flags.StringVar(&c.only, "only", "", "run only this `+TASK`: all others count as succeeded, with their earlier results")
	flags.StringVar(&c.until, "until", "", "end with this `+TASK`: run it and the earlier tasks that --all, --resume (the default with this option) or --resume-from select")
	flags.StringArrayVar(&c.marked, "mark-success", nil, "treat this `+TASK` as succeeded without running it (may be repeated; --resume is the default with this option)")
	flags.BoolVar(&c.failed, "all-failed", false, "retry each session whose last attempt failed")
	flags.StringVar(&c.since, "from", "", "--all-failed: the first session `TIME`, yyyy-MM-dd[ HH:mm:ss] in the zone of each session")
	flags.StringVar(&c.before, "to", "", "--all-failed: only sessions before this session `TIME` (default: no limit)")
	flags.BoolVarP(&c.dryRun, "dry-run", "d", false, "show which tasks would run, or with --all-failed which sessions, and retry nothing")
	flags.StringVar(&c.priority, "priority", "", "`PRIORITY` of the attempt and its tasks while they wait: highest, high, normal, low or lowest (default: with --resume that of the previous attempt)")
	c.waiting.register(cmd)
	c.RegisterParams(cmd.Flags())
	return c.Command(cmd, 0, 2, func(ctx context.Context, args []string) error {
		if !c.failed && len(args) != 1 {
			return cli.WrongCount(cmd, s, args, 1)
		}
		if err := errors.Join(c.checkChoices(), c.checkFailed(args), c.waiting.check(&c.remote)); err != nil {
			return err
		}
		if c.failed {
			return c.retryFailed(ctx, args)
		}
		id, err := cli.IDArgument("attempt-id", args[0])
		if err != nil {
			return err
		}
		return c.retry(ctx, id)
	})
}

func (c *retryCommand) checkChoices() error {
	which := count(c.keep, c.latest, c.revision != "")
	what := count(c.all, c.resume, c.from != "")
	switch {
	case c.only != "" && what+count(c.until != "") > 0:
		return program.UsageError(errors.New("--only runs one task: it cannot be used with --all, --resume, --resume-from or --until"))
	case c.only != "":
		what = 1
	case what == 0 && (c.until != "" || len(c.marked) > 0):
		c.resume, what = true, 1
	}
	missing := ""
	if which == 0 {
		missing += "--keep-revision, --latest-revision, or --revision <name> option is required. "
	}
	if what == 0 {
		missing += "--all, --resume, or --resume-from <+name> option is required. "
	}
	switch {
	case missing != "":
		return program.UsageError(errors.New(missing))
	case which > 1:
		return program.UsageError(errors.New("Setting --keep-revision, --latest-revision, or --revision together is invalid."))
	case what > 1:
		return program.UsageError(errors.New("Setting --all, --resume, or --resume-from together is invalid."))
	}
	return nil
}

func count(choices ...bool) (n int) {
	for _, c := range choices {
		if c {
			n++
		}
	}
	return n
}

func (c *retryCommand) retry(ctx context.Context, id client.ID) error {
	if err := c.Begin(); err != nil {
		return err
	}
	if err := c.Open(ctx); err != nil {
		return err
	}
	if c.dryRun {
		return c.showPlan(ctx, id)
	}
	a, err := c.again(ctx, id, cmp.Or(c.name, host.NewUUID()))
	if exists := (*client.ExistsError)(nil); errors.As(err, &exists) && !program.AsDigdag() {
		return fmt.Errorf("the session already has an attempt named %s (attempt_id=%s): give the new one a different --name, or none", c.name, exists.Attempt.ID)
	}
	if err != nil {
		return err
	}
	c.Warnings(a.Warnings)
	if err := c.showStarted(a, c.waiting); err != nil {
		return err
	}
	return c.waiting.until(ctx, &c.remote, a)
}

// again starts another attempt of an attempt's session.
func (c *retryCommand) again(ctx context.Context, id client.ID, name string) (client.Attempt, error) {
	params, err := c.Parameters(c.Settings)
	if err != nil {
		return client.Attempt{}, err
	}
	if c.only != "" || c.until != "" || len(c.marked) > 0 {
		r := c.rerun(name)
		r.Params = params
		return c.Rerun(ctx, id, r)
	}
	old, err := c.Attempt(ctx, id)
	if err != nil {
		return client.Attempt{}, err
	}
	workflow, err := c.workflowOf(ctx, old)
	if err != nil {
		return client.Attempt{}, err
	}
	start := client.Start{Workflow: workflow, SessionTime: old.SessionTime, RetryName: name, Params: param.Merge(old.Params, params), From: c.from, Priority: c.priority, Labels: old.Labels}
	if c.resume || c.from != "" {
		start.Resume = id
	}
	return c.Start(ctx, start)
}

// rerun returns the options for another attempt, except its parameters.
func (c *retryCommand) rerun(name string) client.Rerun {
	r := client.Rerun{Mode: "all", From: c.from, Only: c.only, Until: c.until, MarkSuccess: c.marked, Priority: c.priority, RetryName: name}
	switch {
	case c.only != "":
		r.Mode = "only"
	case c.from != "":
		r.Mode = "from"
	case c.resume:
		r.Mode = "failed"
	}
	if !c.keep {
		r.Revision = &c.revision
	}
	return r
}

// showPlan shows which tasks a retry would run.
func (c *retryCommand) showPlan(ctx context.Context, id client.ID) error {
	r := c.rerun(host.NewUUID())
	var err error
	if r.Params, err = c.Parameters(c.Settings); err != nil {
		return err
	}
	plan, err := c.PlanRerun(ctx, id, r)
	if err != nil {
		return err
	}
	err = c.Show(plan, func(p cli.Printer) {
		for _, list := range []struct {
			title string
			of    client.RerunTasks
		}{{"Tasks that run:", plan.Runs}, {"Tasks whose results are kept:", plan.Carried}} {
			if list.of.Total == 0 {
				continue
			}
			p.Line("%s", list.title)
			for _, t := range list.of.Rows {
				p.Line("  %s%s", t.Name, planned(t))
			}
			if more := list.of.Total - len(list.of.Rows); more > 0 {
				p.Line("  and %s", term.Counted(more, "more task"))
			}
		}
		if plan.Gone > 0 {
			p.Line("%s of tasks that do not exist in revision %s.", term.Counted(plan.Gone, "result"), plan.Revision)
		}
	})
	c.Hint("Nothing was retried.")
	return err
}

// planned describes a task in a plan, without its name.
func planned(t client.RerunTask) string {
	switch {
	case t.Skipped != "":
		return ", skipped: " + t.Skipped
	case len(t.Parameters) > 0:
		return ", with " + strings.Join(t.Parameters, ", ")
	case t.Made:
		return ", generated"
	}
	return ""
}

// workflowOf finds the definition in the chosen revision.
func (c *retryCommand) workflowOf(ctx context.Context, old client.Attempt) (client.ID, error) {
	if c.keep {
		if old.Workflow.ID == "" {
			return "", fmt.Errorf("Session attempt %s is non-stored workflow. Retrying a non-stored workflow is not supported.", old.ID)
		}
		return old.Workflow.ID, nil
	}
	w, err := c.Workflow(ctx, old.Project.ID, old.Workflow.Name, c.revision)
	return w.ID, err
}
