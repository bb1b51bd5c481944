package main

import (
	"testing"

	"zerodag/integration/stack"
)

// TestBudgets checks that attempts on the deployed stack stay within their budgets of write units, requests and
// invocations. Times depend on the machine and are not checked.
//
// It runs alone on its stack because it would count other tests' work.
func TestBudgets(t *testing.T) {
	s := stack.Alone(t)
	b, err := open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	err = b.runAll(t.Context(), scenarios(b.works.url, 100, 1000, 5), func(r result) {
		per := r.perTask()
		for _, f := range []struct {
			what        string
			got, budget float64
		}{{"write units", per.writes, r.writes}, {"requests to SQS", per.requests, r.scenario.requests}, {"invocations", per.invocations, r.scenario.invocations}} {
			if f.budget > 0 && f.got > f.budget {
				t.Errorf("%s: %.3f %s a task, the budget is %.3f: %s", r.name, f.got, f.what, f.budget, calls(r.Bill))
			}
		}
		if t.Logf("%s: %+v", r.name, per); per.writes == 0 {
			t.Errorf("%s: nothing was counted", r.name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOver checks that a figure above its budget is marked, and others are not.
func TestOver(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		got, budget float64
		want        string
	}{{1.2, 1.1, "1.20 OVER 1.10"}, {1.1, 1.1, "1.10 of 1.10"}, {5, 0, "5.00"}} {
		if got := against(x.got, x.budget, "%.2f"); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestCost checks that prices are applied to the right units: two requests of a poller for each invocation, FIFO more
// expensive than standard, memory times seconds.
func TestCost(t *testing.T) {
	t.Parallel()
	u := usage{functions: map[string]invocations{"agent": {times: 1e6, took: 1e6 * 1e9, memory: 512}, "executor": {times: 1e6}, "api": {times: 1e6}}}
	u.Messages, u.Ordered, u.Writes, u.Reads = 1e6, 1e6, 1e6, 1e6
	want := map[string]float64{"Lambda": 0.6, "Lambda time": 6.6667, "SQS": 0.5 + 0.5 + 2*0.5 + 2*0.5, "DynamoDB": 0.75, "S3": 0, "API": 1, "logs": 0}
	for _, c := range u.costs() {
		if d := c.dollars - want[c.what]; d > 1e-4 || d < -1e-4 {
			t.Errorf("%s: $%.4f, want $%.4f", c.what, c.dollars, want[c.what])
		}
	}
	if u.requests() != 6e6 {
		t.Errorf("%d requests, want two of ours and four of pollers a million times", u.requests())
	}
}
