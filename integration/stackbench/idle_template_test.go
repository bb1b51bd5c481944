package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Limits on the cost of an idle deployment in dollars a month: in an account with nothing else, and by list prices.
const (
	idleBudget     = 0.50
	idleListBudget = 2.00
)

// TestIdle checks that the template's deployment stays within its budget while nothing runs, and that docs/aws.md
// contains both figures.
func TestIdle(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../infra/deployment/testdata/template.json")
	if err != nil {
		t.Fatal(err)
	}
	bill, err := idleBill(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range bill {
		t.Logf("%-22s $%.3f by list, $%.3f in an account that has nothing else", i.what, i.list, i.nothing)
	}
	list, nothing := sum(bill)
	t.Logf("all: $%.3f, $%.3f", list, nothing)
	if nothing > idleBudget || list > idleListBudget {
		t.Errorf("$%.2f a month in an account that has nothing else, %.2f are allowed; $%.2f by list, %.2f are allowed", nothing, idleBudget, list, idleListBudget)
	}
	page, err := os.ReadFile("../../docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, figure := range []string{fmt.Sprintf("$%.2f a month", nothing), fmt.Sprintf("$%.2f at list prices", list)} {
		if !strings.Contains(string(page), figure) {
			t.Errorf("docs/aws.md does not say %q", figure)
		}
	}
}

// TestIdleCounts checks that everything that makes an idle deployment more expensive is recognized in the template.
func TestIdleCounts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../infra/deployment/testdata/template.json")
	if err != nil {
		t.Fatal(err)
	}
	before, err := idleBill(text)
	if err != nil {
		t.Fatal(err)
	}
	less, _ := sum(before)
	for name, x := range map[string]struct{ old, new string }{
		"a key of the account": {`"SSEEnabled": false`, `"SSEEnabled": true`},
		"lines of Lambda":      {`"SystemLogLevel": "WARN"`, `"SystemLogLevel": "INFO"`},
		"more memory":          {`"MemorySize": 512`, `"MemorySize": 1024`},
		"another alarm":        {`"Resources": {`, `"Resources": {"A": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "x"}},`},
		"a dashboard":          {`"Resources": {`, `"Resources": {"D": {"Type": "AWS::CloudWatch::Dashboard"},`},
	} {
		changed := bytes.ReplaceAll(text, []byte(x.old), []byte(x.new))
		after, err := idleBill(changed)
		if err != nil {
			t.Fatal(err)
		}
		if more, _ := sum(after); bytes.Equal(changed, text) || more <= less {
			t.Errorf("%s: $%.4f, before $%.4f", name, more, less)
		}
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m["Resources"].(map[string]any)["Nat"] = map[string]any{"Type": "AWS::EC2::NatGateway"}
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if _, err := idleBill(text); err == nil || !strings.Contains(err.Error(), "NatGateway") {
		t.Errorf("a resource whose price nobody knows: %v", err)
	}
}
