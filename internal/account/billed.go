package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/awscall"
)

// Bill is Cost Explorer's data about a stage.
type Bill struct {
	Lines    []BillLine `json:"lines"`
	Dollars  float64    `json:"dollars"`
	Estimate bool       `json:"estimate"` // AWS has not closed the bill yet
	Requests int        `json:"requests"` // the number of requests to Cost Explorer, one per page
}

// BillLine is the cost of a service for the machines of one project, or for everything that belongs to no project.
type BillLine struct {
	Service   string  `json:"service"`
	ProjectID string  `json:"projectId,omitempty"`
	Dollars   float64 `json:"dollars"`
}

// Cost Explorer finds a stage's resources by these tags. CloudFormation sets the first one on the resources that it
// creates; machines have the others.
const (
	StackTag   = "aws:cloudformation:stack-name"
	StageTag   = "zerodag-stage"
	ProjectTag = "zerodag-project"
)

// Billed queries Cost Explorer for what a stage cost from the day `from` up to but not including the day `to`. Each
// page of the response takes one request, which costs prices.CostRequest; the number of requests is correct even if
// there is an error.
func (a *Account) Billed(ctx context.Context, stage string, from, to time.Time) (Bill, error) {
	tagged := func(key, value string) map[string]any {
		return map[string]any{"Tags": map[string]any{"Key": key, "Values": []string{value}, "MatchOptions": []string{"EQUALS"}}}
	}
	in := map[string]any{
		"TimePeriod":  map[string]string{"Start": from.Format(time.DateOnly), "End": to.Format(time.DateOnly)},
		"Granularity": "MONTHLY", "Metrics": []string{"UnblendedCost"},
		"GroupBy": []map[string]string{{"Type": "DIMENSION", "Key": "SERVICE"}, {"Type": "TAG", "Key": ProjectTag}},
		"Filter": map[string]any{"And": []any{
			map[string]any{"Dimensions": map[string]any{"Key": "REGION", "Values": []string{a.config.Region}, "MatchOptions": []string{"EQUALS"}}},
			map[string]any{"Or": []any{tagged(StackTag, "zerodag-"+stage), tagged(StageTag, stage)}},
		}},
	}
	bill := Bill{Lines: []BillLine{}}
	for {
		var page struct {
			Results []struct {
				Estimated bool
				Groups    []struct {
					Keys    []string
					Metrics map[string]struct{ Amount, Unit string }
				}
			} `json:"ResultsByTime"`
			Next string `json:"NextPageToken"`
		}
		bill.Requests++
		if err := a.calls.Call(ctx, a.costs(), "AWSInsightsIndexService.GetCostAndUsage", in, &page); err != nil {
			return bill, fmt.Errorf("query Cost Explorer: %w", err)
		}
		for _, r := range page.Results {
			bill.Estimate = bill.Estimate || r.Estimated
			for _, g := range r.Groups {
				line, err := billLine(g.Keys, g.Metrics["UnblendedCost"].Amount, g.Metrics["UnblendedCost"].Unit)
				if err != nil {
					return bill, err
				}
				bill.add(line)
			}
		}
		if page.Next == "" {
			return bill, nil
		}
		in["NextPageToken"] = page.Next
	}
}

// add merges a line with the line for the same service and project, which may come from another page.
func (b *Bill) add(line BillLine) {
	b.Dollars += line.Dollars
	for i, l := range b.Lines {
		if l.Service == line.Service && l.ProjectID == line.ProjectID {
			b.Lines[i].Dollars += line.Dollars
			return
		}
	}
	b.Lines = append(b.Lines, line)
}

// billLine reads a group: the keys are a service and a tag as NAME$VALUE, without a value if the tag is missing.
func billLine(keys []string, amount, unit string) (BillLine, error) {
	if len(keys) != 2 {
		return BillLine{}, fmt.Errorf("Cost Explorer returned the group %q instead of a service and a tag", keys)
	}
	if unit != "USD" {
		return BillLine{}, fmt.Errorf("Cost Explorer returned amounts in %q instead of USD", unit)
	}
	dollars, err := strconv.ParseFloat(amount, 64)
	if err != nil {
		return BillLine{}, fmt.Errorf("Cost Explorer returned the invalid amount %q", amount)
	}
	return BillLine{keys[0], strings.TrimPrefix(keys[1], ProjectTag+"$"), dollars}, nil
}

// costs returns the address of Cost Explorer, which serves all regions of a partition.
func (a *Account) costs() awscall.Service {
	if strings.HasPrefix(a.config.Region, "cn-") {
		return awscall.Service{Name: "ce", Endpoint: "https://ce.cn-northwest-1.amazonaws.com.cn", Region: "cn-northwest-1"}
	}
	return awscall.Service{Name: "ce", Endpoint: "https://ce.us-east-1.amazonaws.com", Region: "us-east-1"}
}

// IsDenied reports whether the credentials lack a permission.
func IsDenied(err error) bool { return isDenied(err) }

// WhyUnknown explains why an amount is not known: the credentials lack a permission, or the service returned an error.
func WhyUnknown(err error, action string) string {
	var no *awscall.Refusal
	switch {
	case errors.As(err, &no) && no.Code == "DataUnavailableException":
		return "Cost Explorer has no data yet: the first data appears a day after it is enabled for the account"
	case isDenied(err):
		return "the credentials lack the permission " + action + ", or the account denies it: " + firstLine(err)
	}
	return firstLine(err)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
