package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/prices"
)

const stream = `{"Action":"start","Package":"zerodag/x"}
{"Action":"run","Package":"zerodag/x","Test":"TestA"}
{"Action":"output","Package":"zerodag/x","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"zerodag/x","Test":"TestA","Elapsed":0.5}
{"Action":"output","Package":"zerodag/x","Test":"TestB","Output":"    b_test.go:1: NOT RUN on an account: no | way\n"}
{"Action":"skip","Package":"zerodag/x","Test":"TestB","Elapsed":0}
warning: words of a linker
{"Action":"output","Package":"zerodag/x","Test":"TestC","Output":"    c_test.go:1: it is broken\n"}
{"Action":"fail","Package":"zerodag/x","Test":"TestC","Elapsed":1}
{"Action":"output","Package":"zerodag/x","Output":"FAIL\tzerodag/x\t2s\n"}
{"Action":"fail","Package":"zerodag/x","Elapsed":2}
`

// TestTests checks that the results of tests are kept and shown: failures with their output, passed tests without; that
// later tests are added to earlier ones; and that a list in which a test failed, or none ran, has not succeeded.
func TestTests(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), testsFile)
	var out bytes.Buffer
	if err := tests(strings.NewReader(stream), &out, file); err == nil || !strings.Contains(err.Error(), "2 tests failed") {
		t.Errorf("a test and its package failed: %v", err)
	}
	for text, shown := range map[string]bool{"it is broken": true, "FAIL\tzerodag/x": true, "warning: words": true, "=== RUN": false, "no | way": false} {
		if strings.Contains(out.String(), text) != shown {
			t.Errorf("%q is shown: %v\n%s", text, !shown, &out)
		}
	}
	if err := tests(strings.NewReader(`{"Action":"pass","Package":"zerodag/y","Test":"TestD"}`), &out, file); err != nil {
		t.Error(err)
	}
	var kept []result
	if err := read(file, &kept); err != nil || len(kept) != 5 || kept[4].Test != "TestD" {
		t.Errorf("%+v %v", kept, err)
	}
	for _, none := range []string{"", "go: no such package\n", `{"Action":"skip","Package":"zerodag/x","Test":"TestB"}`} {
		if err := tests(strings.NewReader(none), &out, file); err == nil {
			t.Errorf("%q is a success", none)
		}
	}
}

// FuzzFollow checks that the output of tests is read to its end, whatever they print.
func FuzzFollow(f *testing.F) {
	f.Add(stream)
	f.Add("{\"Action\":\"output\"}\n{")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := follow(strings.NewReader(text), &bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

// TestSummary checks that a percentile is the smallest time that the given percentage of runs does not exceed.
func TestSummary(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i))
	}
	if l := summary("x", all); l.P50 != 50 || l.P95 != 95 || l.Max != 100 || l.Times != 100 {
		t.Errorf("%+v", l)
	}
	if l := summary("x", []time.Duration{7}); l.P50 != 7 || l.P95 != 7 || l.Max != 7 {
		t.Errorf("%+v", l)
	}
	if l := summary("x", nil); l.Times != 0 || l.Max != 0 {
		t.Errorf("%+v", l)
	}
}

// TestReport checks that a report covers a whole run: failures with their messages, skipped steps with their reasons,
// durations, costs and leftover resources; and that steps that did not happen are listed.
func TestReport(t *testing.T) {
	t.Parallel()
	folder, began := t.TempDir(), time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC)
	empty, err := report(folder, began)
	for _, want := range []string{"No tests ran", "Not measured", "Not counted", "Nothing was removed"} {
		if err != nil || !strings.Contains(empty, want) {
			t.Errorf("%v: the report of nothing does not say %q:\n%s", err, want, empty)
		}
	}
	results, err := follow(strings.NewReader(stream), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{runFile: about{Stage: "it1", Region: "eu-central-1", Commit: "abc", Version: "1", Began: began}, testsFile: results,
		latencyFile:  []latency{{"first task", 3, time.Second, 2 * time.Second, 3 * time.Second}},
		"usage.json": []prices.Metered{prices.Meter("AWS Lambda", "Request-ARM", 1e6, prices.LambdaRequest)}, "usage-list.json": []prices.Metered{prices.Meter("Amazon DynamoDB", "WriteRequestUnits", 1e6, prices.WriteUnit)},
		leftFile: left{Left: []leftover{{"queue", "q"}}, Error: "no right"}} {
		if err := write(folder, name, v); err != nil {
			t.Fatal(err)
		}
	}
	text, err := report(folder, began.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2026-11-23", "region eu-central-1", "commit abc", "took 1h0m0s", "| x | 1 | 2 | 1 |", "### Failed: x TestC", "it is broken", `NOT RUN on an account: no \| way: x/TestB`,
		"| first task | 3 | 1s | 2s | 3s |", "| AWS Lambda | Request-ARM | 1000000 | 0.2000 |", "| **all** | | | **0.8250** |", "**Left behind:**", "- queue q", "no right"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "usage.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report(folder, began); err == nil || !strings.Contains(err.Error(), "usage.json") {
		t.Errorf("a broken file: %v", err)
	}
}
