package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	stages "zerodag/infra/settings"
	"zerodag/internal/account"
	"zerodag/internal/cost"
	"zerodag/internal/prices"
)

// costCommand is `zerodag aws cost`.
type costCommand struct {
	remote
	folder *string
	month  string
	sample int
	billed bool
	now    func() time.Time
}

// usualSample is how many attempts of a workflow have their tasks read.
const usualSample = 20

// newCost reports the cost of a stage by project and workflow.
func newCost(s streams) *cobra.Command {
	r := &costCommand{remote: remote{streams: s}, now: time.Now}
	c := &cobra.Command{Use: "cost [STAGE]", Short: "Show what a stage cost in a month, by project and workflow"}
	r.folder = stageFolder(c)
	c.Flags().StringVar(&r.month, "month", "", "`MONTH` in UTC, as 2026-10, or now (default: the last complete one)")
	c.Flags().IntVar(&r.sample, "sample", usualSample, "read the tasks of `N` attempts of each workflow and take the others to be like them; 0 reads all")
	c.Flags().BoolVar(&r.billed, "billed", false, "also ask Cost Explorer what AWS billed; each request costs $0.01")
	return r.command(c, 0, 1, func(ctx context.Context, args []string) error { return r.report(ctx, stageOf(args)) })
}

// costReport is the result.
type costReport struct {
	Stage      string       `json:"stage"`
	Region     string       `json:"region"`
	Month      string       `json:"month"`
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Partial    bool         `json:"partial"` // the month is not over
	Currency   string       `json:"currency"`
	Prices     string       `json:"prices"` // the region whose list prices are used
	Workflows  []cost.Row   `json:"workflows"`
	Attributed amounts      `json:"attributed"` // the sum of the workflows
	Counted    countedPart  `json:"counted"`
	Fixed      []fixedPart  `json:"fixed"`
	Rest       *float64     `json:"notAttributed"` // counted, but of no workflow; null where nothing was counted
	Total      float64      `json:"estimatedTotal"`
	Billed     billedPart   `json:"billed"`
	Requests   costRequests `json:"requests"`
	Notes      []string     `json:"notes"`
}

type amounts struct {
	Engine   float64 `json:"engine"`
	Machines float64 `json:"machines"`
	Dollars  float64 `json:"dollars"`
}

// countedPart is what CloudWatch counted for the stage as a whole.
type countedPart struct {
	Known   bool             `json:"known"`
	Why     string           `json:"why,omitempty"` // it is not known
	Items   []prices.Metered `json:"items"`
	Dollars float64          `json:"dollars"`
}

type fixedPart struct {
	What    string  `json:"what"`
	Dollars float64 `json:"dollars"`
}

// billedPart is what Cost Explorer says.
type billedPart struct {
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"` // it is not known
	account.Bill
	Cost float64 `json:"costOfRequests"` // dollars that asking cost
}

// costRequests is what the report itself asked of the API.
type costRequests struct {
	Lists  int `json:"lists"`  // pages of attempts
	Tasks  int `json:"tasks"`  // attempts whose tasks were asked for
	Unread int `json:"unread"` // of them, those that were removed meanwhile or have too many tasks for an answer
}

func (r *costCommand) report(ctx context.Context, stage string) error {
	month, err := cost.ReadMonth(r.month, r.now())
	if err != nil {
		return usageError{fmt.Errorf("--month: %w", err)}
	}
	if r.sample < 0 {
		return usageError{fmt.Errorf("--sample must be 0 or more but is %d", r.sample)}
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
	unread := err // with --endpoint the report does without what the stack says
	if unread != nil && (!account.IsDenied(unread) || r.endpoint == "") {
		return unread
	}
	if err := r.reach(ctx, stack.URL); err != nil {
		return err
	}
	out := costReport{Stage: stage, Region: a.Region(), Month: month.Name, From: month.From, To: month.To, Partial: month.Partial, Currency: "USD", Prices: prices.Region, Fixed: []fixedPart{}}
	if err := r.attribute(ctx, &out, settings, month); err != nil {
		return err
	}
	if unread == nil {
		countUsage(ctx, a, &out, stack, month)
	} else {
		out.Counted.Why = account.WhyUnknown(unread, "cloudformation:DescribeStacks")
	}
	out.Fixed = fixed(settings, stack, month)
	r.askBill(ctx, a, &out, month)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.note(ctx, &out, settings, assumed)
	out.sum()
	out.round()
	return r.show(out, func(p printer) { r.print(p, &out) })
}

// reach is ready to talk to the API of the stage: signed with the credentials, unless the options say how.
func (r *costCommand) reach(ctx context.Context, url string) error {
	if r.endpoint == "" && r.context == "" {
		r.endpoint = url
	}
	if r.token == "" && r.basicAuth == "" && r.context == "" {
		r.iam = true
	}
	return r.open(ctx)
}

// countUsage adds what CloudWatch counted; that it may not be asked is no failure.
func countUsage(ctx context.Context, a *account.Account, out *costReport, stack account.Stack, month cost.Month) {
	items, err := a.Usage(ctx, stack, month.From, month.Until())
	if err != nil {
		out.Counted.Why = account.WhyUnknown(err, "cloudwatch:GetMetricData, lambda:GetFunctionConfiguration")
		return
	}
	out.Counted.Known, out.Counted.Items = true, items
	for _, i := range items {
		out.Counted.Dollars += i.Dollars
	}
}

// askBill adds what AWS billed, if the user wants to pay for the question.
func (r *costCommand) askBill(ctx context.Context, a *account.Account, out *costReport, month cost.Month) {
	out.Billed.Lines = []account.BillLine{}
	if !r.billed {
		out.Billed.Why = "not asked: --billed asks Cost Explorer, for $0.01 a request"
		return
	}
	bill, err := a.Billed(ctx, out.Stage, month.From, month.Until())
	out.Billed.Bill, out.Billed.Cost = bill, float64(bill.Requests)*prices.CostRequest
	switch {
	case err != nil:
		out.Billed.Lines, out.Billed.Dollars = []account.BillLine{}, 0 // a part of a bill is none
		out.Billed.Why = account.WhyUnknown(err, "ce:GetCostAndUsage")
	case len(bill.Lines) == 0:
		out.Billed.Why = "Cost Explorer has nothing with the tags of the stage: activate the cost allocation tags " + account.StackTag + ", " + account.StageTag + " and " + account.ProjectTag +
			" in the console of Billing; they count from then on"
	default:
		out.Billed.Known = true
	}
}

// fixed is what a stage costs by the month, whatever it does.
func fixed(s stages.Settings, stack account.Stack, month cost.Month) []fixedPart {
	list, share := []fixedPart{}, month.Share()
	add := func(n float64, what string, price float64) {
		if n > 0 {
			list = append(list, fixedPart{what, n * price * share})
		}
	}
	if stack.Alarms > 0 {
		add(prices.AlarmMetrics, "alarms, for the metrics that they read", prices.AlarmMetric)
	}
	add(float64(stack.Dashboards), "dashboard", prices.Dashboard)
	add(float64(len(s.MetricsOf)), "metricsOf, at most", 3*prices.CustomMetric)
	if s.KMSKey != "" {
		add(1, "kmsKey, without its requests", prices.Key)
	}
	return list
}

// sum adds up the parts.
func (o *costReport) sum() {
	for _, row := range o.Workflows {
		o.Attributed.Engine += row.Engine
		o.Attributed.Machines += row.Machines
	}
	o.Attributed.Dollars = o.Attributed.Engine + o.Attributed.Machines
	o.Total = o.Attributed.Dollars
	if o.Counted.Known {
		rest := max(o.Counted.Dollars-o.Attributed.Engine, 0)
		o.Rest = &rest
		o.Total += rest
	}
	for _, f := range o.Fixed {
		o.Total += f.Dollars
	}
}

// round rounds dollars to a millionth, after everything was added up.
func (o *costReport) round() {
	list := []*float64{&o.Attributed.Engine, &o.Attributed.Machines, &o.Attributed.Dollars, &o.Counted.Dollars, &o.Total, &o.Billed.Dollars, &o.Billed.Cost}
	if o.Rest != nil {
		list = append(list, o.Rest)
	}
	for i := range o.Workflows {
		w := &o.Workflows[i]
		list = append(list, &w.Tasks, &w.Commands, &w.CPUHours, &w.GBHours, &w.Engine, &w.Machines, &w.Dollars)
	}
	for i := range o.Counted.Items {
		list = append(list, &o.Counted.Items[i].Dollars, &o.Counted.Items[i].Quantity)
	}
	for i := range o.Fixed {
		list = append(list, &o.Fixed[i].Dollars)
	}
	for i := range o.Billed.Lines {
		list = append(list, &o.Billed.Lines[i].Dollars)
	}
	for _, x := range list {
		*x = math.Round(*x*1e6) / 1e6
	}
}

// note says what the figures are, and what is not in them.
func (r *costCommand) note(ctx context.Context, out *costReport, s stages.Settings, assumed bool) {
	add := func(format string, a ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, a...)) }
	add("Workflows are estimated: attempts are counted, and priced by what this release of the engine was counted to ask for; machines are derived from the times of commands.")
	if slices.ContainsFunc(out.Workflows, func(w cost.Row) bool { return w.Read < w.Attempts }) {
		add("Tasks were read of %d attempts at most of each workflow, and the others are taken to be like them: --sample 0 reads all.", r.sample)
	}
	if n := out.Requests.Unread; n > 0 {
		add("The tasks of %d attempts could not be read: they were removed meanwhile, or are too many for an answer of the API. Other attempts of the workflow stand for them.", n)
	}
	add("An attempt counts in the month in which it was created, with all its tasks and machines.")
	add("List prices of %s without the free tier; prices of other regions differ. Machines on Spot are priced as on demand.", out.Prices)
	if out.Counted.Known {
		add("Not attributed to a workflow: polling of empty queues, the tick, the console and other requests to the API, polls of machines, log lines, and attempts that were removed or belong to other sites.")
		add("Not counted: storage, S3, EventBridge, SNS, KMS requests, data transfer, image pulls, NAT and endpoints of a vpc, and what tasks call.")
	}
	if out.Attributed.Engine > out.Counted.Dollars && out.Counted.Known {
		add("The estimate of the workflows is above what CloudWatch counted, so nothing is left that is not attributed.")
	}
	if assumed {
		add("%s has no file of stage %s: machines are taken to have the default size (--stages names the folder).", *r.folder, out.Stage)
	}
	if s.AttemptDays > 0 {
		add("attemptDays: %d removes attempts; those that are gone are not in the estimate.", s.AttemptDays)
	}
	if sites, err := r.Sites(ctx); err == nil && len(sites) > 1 {
		var names []string
		for _, s := range sites {
			names = append(names, string(s.ID))
		}
		add("The stage has the sites %s. Workflows are those of the caller's site: use --token with a token of another one.", strings.Join(names, ", "))
	}
}
