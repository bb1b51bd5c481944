package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zerodag/internal/prices"
)

// left is the result of the removal.
type left struct {
	Left  []leftover
	Error string
}

// report returns the report of a run in Markdown, from the files of its folder: a missing file means that the step did
// not happen, which the report states.
func report(folder string, now time.Time) (string, error) {
	var run about
	var results []result
	var latencies []latency
	var removal *left
	for name, v := range map[string]any{runFile: &run, testsFile: &results, latencyFile: &latencies, leftFile: &removal} {
		if err := read(filepath.Join(folder, name), v); err != nil {
			return "", err
		}
	}
	var used []prices.Metered
	files, err := filepath.Glob(filepath.Join(folder, usagePattern))
	if err != nil {
		return "", err
	}
	for _, name := range files {
		var more []prices.Metered
		if err := read(name, &more); err != nil {
			return "", err
		}
		used = append(used, more...)
	}
	var b strings.Builder
	run.head(&b, now)
	writeTests(&b, results)
	writeLatencies(&b, latencies)
	writeUsage(&b, used)
	writeRemoval(&b, removal)
	return b.String(), nil
}

func (r about) head(b *strings.Builder, now time.Time) {
	place := "an AWS account, region " + r.Region
	if r.Near {
		place = "**LocalStack, not an AWS account**: all times are from a single computer"
	}
	fmt.Fprintf(b, "# The end-to-end list on AWS, %s\n\n", r.Began.Format(time.DateOnly))
	fmt.Fprintf(b, "| | |\n|---|---|\n| where | %s |\n| release | %s, commit %s |\n| started | %s, took %v |\n| stage | `%s` |\n\n",
		place, cell(r.Version), cell(r.Commit), r.Began.Format(time.RFC3339), now.Sub(r.Began).Round(time.Second), r.Stage)
}

// cell returns a string in a form that a table cell can hold.
func cell(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", "\\|")), " ")
}

// ofPackage counts the results of a package's tests.
type ofPackage struct {
	passed, failed, skipped int
	took                    float64
}

func writeTests(b *strings.Builder, results []result) {
	b.WriteString("## Tests\n\n")
	if len(results) == 0 {
		b.WriteString("No tests ran.\n\n")
		return
	}
	packages, skipped := map[string]*ofPackage{}, map[string][]string{}
	var failed []result
	for _, r := range results {
		name := strings.TrimPrefix(r.Package, "zerodag/")
		p := packages[name]
		if p == nil {
			p = &ofPackage{}
			packages[name] = p
		}
		switch r.Action {
		case "pass":
			p.passed++
		case "fail":
			p.failed++
			failed = append(failed, r)
		case "skip":
			p.skipped++
			skipped[r.why()] = append(skipped[r.why()], last(name, "/")+"/"+r.Test)
		}
		if !strings.Contains(r.Test, "/") {
			p.took += r.Elapsed
		}
	}
	b.WriteString("| package | passed | failed | not run |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		fmt.Fprintf(b, "| %s | %d | %d | %d |\n", name, p.passed, p.failed, p.skipped)
	}
	b.WriteString("\n")
	for _, r := range failed {
		fmt.Fprintf(b, "### Failed: %s %s\n\n```\n%s\n```\n\n", strings.TrimPrefix(r.Package, "zerodag/"), r.Test, strings.ReplaceAll(strings.TrimSpace(r.Output), "```", "'''"))
	}
	if len(skipped) > 0 {
		b.WriteString("### Skipped tests\n\n")
		for _, why := range slices.Sorted(maps.Keys(skipped)) {
			names := skipped[why]
			slices.Sort(names)
			fmt.Fprintf(b, "- %s: %s\n", cell(why), strings.Join(names, ", "))
		}
		b.WriteString("\n")
	}
}

func writeLatencies(b *strings.Builder, list []latency) {
	b.WriteString("## Times\n\n")
	if len(list) == 0 {
		b.WriteString("Not measured.\n\n")
		return
	}
	b.WriteString("| what | times | p50 | p95 | max |\n|---|---|---|---|---|\n")
	for _, l := range list {
		fmt.Fprintf(b, "| %s | %d | %v | %v | %v |\n", cell(l.What), l.Times, l.P50.Round(time.Millisecond), l.P95.Round(time.Millisecond), l.Max.Round(time.Millisecond))
	}
	b.WriteString("\n")
}

func writeUsage(b *strings.Builder, used []prices.Metered) {
	b.WriteString("## Requests and their cost\n\nList prices of us-east-1 without the free tier. The resources of the tests, S3, SSM and EventBridge are not counted where CloudWatch has no metrics for them.\n\n")
	if len(used) == 0 {
		b.WriteString("Not counted.\n\n")
		return
	}
	b.WriteString("| service | usage type | quantity | dollars |\n|---|---|---|---|\n")
	total := 0.0
	for _, u := range used {
		fmt.Fprintf(b, "| %s | %s | %s | %.4f |\n", cell(u.Service), cell(u.Type), quantity(u.Quantity), u.Dollars)
		total += u.Dollars
	}
	fmt.Fprintf(b, "| **all** | | | **%.4f** |\n\n", total)
}

// quantity has decimals if it is small.
func quantity(x float64) string {
	if x < 100 && x != float64(int(x)) {
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func writeRemoval(b *strings.Builder, removal *left) {
	b.WriteString("## Removal\n\n")
	switch {
	case removal == nil:
		b.WriteString("**Nothing was removed.**\n")
	case len(removal.Left) == 0 && removal.Error == "":
		b.WriteString("Everything was removed.\n")
	default:
		b.WriteString("**Left behind:**\n\n")
		for _, l := range removal.Left {
			fmt.Fprintf(b, "- %s\n", cell(l.String()))
		}
		if removal.Error != "" {
			fmt.Fprintf(b, "\n%s\n", cell(removal.Error))
		}
	}
}
