package awscost

import (
	"context"
	"fmt"
	"slices"
	"strings"

	stages "zerodag/infra/settings"
	"zerodag/internal/account"
	"zerodag/internal/client"
	"zerodag/internal/cost"
	"zerodag/internal/prices"
)

// Question selects the report about a stage.
type Question struct {
	API      *client.Client // the client for the stage
	Account  *account.Account
	Stack    account.Stack
	Denied   error // why the stack could not be read; nil if it was
	Settings stages.Settings
	Assumed  bool   // the stage has no file
	Folder   string // the folder with the stage files
	Month    cost.Month
	Sample   int  // for how many attempts of each workflow tasks are read; 0 means all
	Billed   bool // also query Cost Explorer
}

// Of creates the report from the API and the account. If the credentials may not read a value, the report shows it as
// unknown; that is not an error.
func Of(ctx context.Context, q Question) (*Report, error) {
	out := &Report{Stage: q.Settings.Stage, Region: q.Account.Region(), Month: q.Month.Name, From: q.Month.From, To: q.Month.To, Partial: q.Month.Partial, Currency: "USD", Prices: prices.Region, Fixed: []FixedPart{}}
	if err := q.attribute(ctx, out); err != nil {
		return nil, err
	}
	if q.Denied == nil {
		q.countUsage(ctx, out)
	} else {
		out.Counted.Why = account.WhyUnknown(q.Denied, "cloudformation:DescribeStacks")
	}
	out.Fixed = q.fixed()
	q.askBill(ctx, out)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	q.note(ctx, out)
	out.sum()
	out.round()
	return out, nil
}

// countUsage adds CloudWatch's counts; a missing permission is not a failure.
func (q Question) countUsage(ctx context.Context, out *Report) {
	items, err := q.Account.Usage(ctx, q.Stack, q.Month.From, q.Month.Until())
	if err != nil {
		out.Counted.Why = account.WhyUnknown(err, "cloudwatch:GetMetricData, lambda:GetFunctionConfiguration")
		return
	}
	out.Counted.Known, out.Counted.Items = true, items
	for _, i := range items {
		out.Counted.Dollars += i.Dollars
	}
}

// askBill adds AWS's bill if the user agreed to pay for the requests.
func (q Question) askBill(ctx context.Context, out *Report) {
	out.Billed.Lines = []account.BillLine{}
	if !q.Billed {
		out.Billed.Why = "not asked: --billed asks Cost Explorer, for $0.01 a request"
		return
	}
	bill, err := q.Account.Billed(ctx, out.Stage, q.Month.From, q.Month.Until())
	out.Billed.Bill, out.Billed.Cost = bill, float64(bill.Requests)*prices.CostRequest
	switch {
	case err != nil:
		out.Billed.Lines, out.Billed.Dollars = []account.BillLine{}, 0 // an incomplete bill is not shown
		out.Billed.Why = account.WhyUnknown(err, "ce:GetCostAndUsage")
	case len(bill.Lines) == 0:
		out.Billed.Why = "Cost Explorer has no costs with the tags of the stage: activate the cost allocation tags " + account.StackTag + ", " + account.StageTag + " and " + account.ProjectTag +
			" in the Billing console; they apply from then on"
	default:
		out.Billed.Known = true
	}
}

// fixed returns a stage's monthly costs, which do not depend on its use.
func (q Question) fixed() []FixedPart {
	s, stack := q.Settings, q.Stack
	list, share := []FixedPart{}, q.Month.Share()
	add := func(n float64, what string, price float64) {
		if n > 0 {
			list = append(list, FixedPart{what, n * price * share})
		}
	}
	if stack.Alarms > 0 {
		metrics := prices.AlarmMetrics
		if s.IsGradual() {
			metrics += prices.ReleaseAlarmMetrics
		}
		add(float64(metrics), "alarms, for the metrics that they read", prices.AlarmMetric)
	}
	add(float64(stack.Dashboards), "dashboard", prices.Dashboard)
	add(float64(len(s.MetricsOf)), "metricsOf, at most", 3*prices.CustomMetric)
	if s.KMSKey != "" {
		add(1, "kmsKey, without its requests", prices.Key)
	}
	return list
}

// note adds notes about what the figures include and omit.
func (q Question) note(ctx context.Context, out *Report) {
	add := func(format string, a ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, a...)) }
	add("Workflow costs are estimates: attempts are counted, and priced by the requests that this release of the engine was measured to make; machine costs are derived from the times of commands.")
	if slices.ContainsFunc(out.Workflows, func(w cost.Row) bool { return w.Read < w.Attempts }) {
		add("The tasks of at most %d attempts of each workflow were read, and the others are assumed to be alike: --sample 0 reads all.", q.Sample)
	}
	if n := out.Requests.Unread; n > 0 {
		add("The tasks of %d attempts could not be read: they were removed in the meantime, or are too many for a response of the API. Other attempts of the workflow represent them.", n)
	}
	add("An attempt counts in the month in which it was created, with all its tasks and machines.")
	add("List prices of %s without the free tier; prices of other regions differ. Machines on Spot are priced as on demand.", out.Prices)
	if out.Counted.Known {
		add("Not attributed to a workflow: polling of empty queues, the tick, the console and other requests to the API, polls of machines, log lines, and attempts that were removed or belong to other sites.")
		add("Not counted: storage, S3, EventBridge, SNS, KMS requests, data transfer, image pulls, NAT and endpoints of a vpc, and what tasks call.")
	}
	if out.Attributed.Engine > out.Counted.Dollars && out.Counted.Known {
		add("The estimate for the workflows exceeds the counts of CloudWatch, so nothing remains unattributed.")
	}
	if q.Assumed {
		add("%s has no file for stage %s: machines are assumed to have the default size (--stages names the folder).", q.Folder, out.Stage)
	}
	if days := q.Settings.AttemptDays; days > 0 {
		add("attemptDays: %d removes old attempts, which are then missing from the estimate.", days)
	}
	if sites, err := q.API.Sites(ctx); err == nil && len(sites) > 1 {
		var names []string
		for _, s := range sites {
			names = append(names, string(s.ID))
		}
		add("The stage has the sites %s. Only the workflows of your site are included: use --token with a token of a different site.", strings.Join(names, ", "))
	}
}
