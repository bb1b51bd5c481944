package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/internal/prices"
)

var rewrite = flag.Bool("rewrite", false, "write the table of costs into docs/aws.md")

// The place of the cost table in the docs.
const (
	costPage  = "../../docs/aws.md"
	costBegin = "<!-- costs: written from integration/stackbench/testdata/costs.json -->\n"
	costEnd   = "<!-- end of costs -->\n"
)

// TestCostTable checks that docs/aws.md shows the last results of `make bench-aws` that are stored in the repository:
// all parts of the bill, and whether each budget is met.
func TestCostTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/costs.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []figure
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(costPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), costBegin)
	shown, after, ends := strings.Cut(rest, costEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table: %q", costPage, costBegin)
	}
	want := "\n" + pageOf(list) + "\n"
	if *rewrite {
		if err := os.WriteFile(costPage, []byte(before+costBegin+want+costEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Errorf("%s does not show what was counted last: go test ./integration/stackbench -run TestCostTable -rewrite", costPage)
	}
	for _, f := range list {
		if len(f.Items) != len(usage{}.costs()) {
			t.Errorf("%s has %d parts of the bill, there are %d: make bench-aws", f.Name, len(f.Items), len(usage{}.costs()))
		}
		if f.total() == 0 {
			t.Errorf("%s costs nothing", f.Name)
		}
	}
}

// TestEnginePrices checks that `zerodag aws cost` prices the engine by the last count, and its alarms by the template.
func TestEnginePrices(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/costs.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []figure
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	of := map[string]float64{}
	for _, f := range list {
		of[f.Name] = f.total() / 1e6
	}
	for name, x := range map[string][2]float64{
		"EngineAttempt": {prices.EngineAttempt, of["attempts of one echo>"]},
		"EngineInline":  {prices.EngineInline, of["chain of 100 echo>"]},
		"EngineTask":    {prices.EngineTask, of["chain of 100 http>"]},
		"EngineFirst":   {prices.EngineFirst, of["attempts of one http>"] - of["attempts of one echo>"]},
	} {
		if x[1] == 0 || math.Abs(x[0]-x[1]) > 0.03*x[1] {
			t.Errorf("prices.%s is $%.3f a million, and $%.3f were counted", name, 1e6*x[0], 1e6*x[1])
		}
	}
	template, err := os.ReadFile("../../infra/deployment/testdata/template.json")
	if err != nil {
		t.Fatal(err)
	}
	bill, err := idleBill(template)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range bill {
		if i.what == "alarms" && math.Abs(i.list-prices.AlarmMetrics*prices.AlarmMetric) > 1e-9 {
			t.Errorf("the alarms cost $%.2f a month, prices.AlarmMetrics makes that $%.2f", i.list, prices.AlarmMetrics*prices.AlarmMetric)
		}
	}
}

// TestFigures checks that tasks are charged for the costs beyond those of their attempts, part by part, and attempts
// for everything; and that an exceeded budget is reported.
func TestFigures(t *testing.T) {
	t.Parallel()
	used := func(writes float64, calls int) usage {
		u := usage{functions: map[string]invocations{"api": {times: calls, took: time.Duration(calls) * time.Second, memory: 1024}}}
		u.Writes = writes
		return u
	}
	list := figuresOf([]result{
		{scenario: scenario{name: "attempts", tasks: 1, attempts: 10, dollars: 30}, usage: used(100, 10)},
		{scenario: scenario{name: "tasks", tasks: 100, attempts: 2, dollars: 0.1}, usage: used(220, 2)},
		{scenario: scenario{name: "cheap", tasks: 100, attempts: 2}, usage: used(4, 0)}})
	writes := func(f figure) float64 {
		for _, p := range f.Items {
			if p.What == "DynamoDB" {
				return p.Dollars
			}
		}
		return -1
	}
	for i, want := range []float64{6.25, 0.625, 0} { // 10 units per attempt; 200 more for 200 tasks; less than the attempts
		if d := writes(list[i]) - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: $%v for writes, want $%v", list[i].Name, writes(list[i]), want)
		}
	}
	table := pageOf(list)
	for _, want := range []string{"| DynamoDB | 6.250 | 0.625 | – |", "| 30.00 | 0.10, **over** |  |", "| **all** | **20.78** | **0.62** | **0.00** |", "| everything counted, without Lambda time | 7.450 | 0.625 | 0.000 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
}
