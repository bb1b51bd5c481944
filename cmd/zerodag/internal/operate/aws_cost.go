package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"zerodag/cmd/zerodag/internal/cli"
	stages "zerodag/infra/settings"
	"zerodag/internal/account"
	"zerodag/internal/awscost"
	"zerodag/internal/cost"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// costCommand implements `zerodag aws cost`.
type costCommand struct {
	cli.Remote
	folder *string
	month  string
	sample int
	billed bool
	now    func() time.Time
}

// usualSample is the default for how many attempts of a workflow have their tasks read.
const usualSample = 20

// newCost returns the command that reports the cost of a stage by project and workflow.
func newCost(s cli.Streams) *cobra.Command {
	r := &costCommand{Remote: cli.Remote{Streams: s}, now: time.Now}
	c := &cobra.Command{Use: "cost [STAGE]", Short: "Show what a stage cost in a month, by project and workflow"}
	r.folder = stageFolder(c)
	c.Flags().StringVar(&r.month, "month", "", "`MONTH` in UTC, such as 2026-10, or now (default: the last complete month)")
	c.Flags().IntVar(&r.sample, "sample", usualSample, "read the tasks of `N` attempts of each workflow and assume that the others are similar; 0 reads all")
	c.Flags().BoolVar(&r.billed, "billed", false, "also ask Cost Explorer what AWS billed; each request costs $0.01")
	return r.Command(c, 0, 1, func(ctx context.Context, args []string) error { return r.report(ctx, stageOf(args)) })
}

func (r *costCommand) report(ctx context.Context, stage string) error {
	month, err := cost.ReadMonth(r.month, r.now())
	if err != nil {
		return program.UsageError(fmt.Errorf("--month: %w", err))
	}
	if r.sample < 0 {
		return program.UsageError(fmt.Errorf("--sample must be 0 or more but is %d", r.sample))
	}
	settings, err := stageSettings(*r.folder, stage)
	assumed := errors.Is(err, stages.ErrNoFile)
	if assumed {
		settings, err = stages.Default(stage), nil
	}
	if err != nil {
		return err
	}
	a, err := account.Open(ctx)
	if err != nil {
		return err
	}
	stack, err := a.Stack(ctx, stage)
	unread := err // with --endpoint, the report works without data from the stack
	if unread != nil && (!account.IsDenied(unread) || r.Endpoint == "") {
		return unread
	}
	if err := r.reach(ctx, stack.URL); err != nil {
		return err
	}
	out, err := awscost.Of(ctx, awscost.Question{API: r.Client, Account: a, Stack: stack, Denied: unread, Settings: settings, Assumed: assumed, Folder: *r.folder, Month: month, Sample: r.sample, Billed: r.billed})
	if err != nil {
		return err
	}
	return r.Show(out, func(p cli.Printer) {
		columns, ink := term.Look(r.Out)
		out.Print(p, r.Format == cli.WideForm, columns, ink)
	})
}

// reach connects to the API of the stage: signed with the credentials, unless options say otherwise.
func (r *costCommand) reach(ctx context.Context, url string) error {
	if r.Endpoint == "" && r.Context == "" {
		r.Endpoint = url
	}
	if r.Token == "" && r.BasicAuth == "" && r.Context == "" {
		r.IAM = true
	}
	return r.Open(ctx)
}
