package operators_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"zerodag/engine/param"
	"zerodag/operators"
)

func sandboxOf(t *testing.T, text string) (operators.Sandbox, error) {
	t.Helper()
	v, err := param.ParseJSON(text)
	m, isMap := v.(*param.Map)
	if err != nil || !isMap {
		t.Fatalf("%s: %v", text, err)
	}
	return operators.ReadSandbox(operators.NewParams(m))
}

// TestReadSandbox checks that every key of `sandbox:` is read in the form shown on the page, as a number, and as the
// text into which `${…}` turns a number.
func TestReadSandbox(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]operators.Sandbox{
		`{}`: {},
		`{"sandbox": {"executor": "fargate", "cpu": 2, "memory": "4g", "disk": "50g", "timeout": "30m", "processes": 200, "output": "100m", "role": "arn:r", "spot": true, "fresh": true}}`: {
			Executor: operators.OnFargate, CPU: 2, Memory: 4 << 30, Disk: 50 << 30, Time: 30 * time.Minute, Processes: 200, Output: 100 << 20, Role: "arn:r", Spot: true, Fresh: true},
		`{"sandbox": {"cpu": "0.25", "memory": "1.5GiB", "disk": "20480MB", "timeout": "1m 30s", "processes": "7", "output": "64k", "spot": "true"}}`: {
			CPU: 0.25, Memory: 3 << 29, Disk: 20 << 30, Time: 90 * time.Second, Processes: 7, Output: 64 << 10, Spot: true},
		`{"docker": {"image": "python:3.13"}}`: {Image: "python:3.13"},
	} {
		got, err := sandboxOf(t, text)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(operators.Sandbox{}, "Docker")); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

// TestWrongSandbox checks that each invalid value is reported with its key and its valid values.
func TestWrongSandbox(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"sandbox": {"memory": "512"}}`:       "sandbox: memory must be a size with a unit, such as 512m or 2g, but is 512",
		`{"sandbox": {"memory": 512}}`:         "sandbox: memory must be a size with a unit, such as 512m or 2g, but is 512",
		`{"sandbox": {"disk": "-1g"}}`:         "sandbox: disk must be a size",
		`{"sandbox": {"output": "0m"}}`:        "sandbox: output cannot be 0m",
		`{"sandbox": {"memory": ["1g"]}}`:      "memory",
		`{"sandbox": {"cpu": "two"}}`:          "sandbox: cpu must be a number of vCPUs, such as 0.5, but is two",
		`{"sandbox": {"cpu": "NaN"}}`:          "sandbox: cpu must be a number",
		`{"sandbox": {"cpu": 0}}`:              "sandbox: cpu must be a number",
		`{"sandbox": {"timeout": "soon"}}`:     "timeout",
		`{"sandbox": {"processes": -1}}`:       "sandbox: processes must be a number up to",
		`{"sandbox": {"executor": "cloud"}}`:   `sandbox: executor must be one of process, docker, fargate, lambda, microvm but is "cloud"`,
		`{"sandbox": {"memmory": "1g"}}`:       `sandbox: unknown key "memmory": valid keys are executor, cpu, memory`,
		`{"sandbox": "fargate"}`:               "sandbox",
		`{"docker": "python:3.13"}`:            "docker",
		`{"docker": {"image": {"name": "x"}}}`: "image",
	} {
		if s, err := sandboxOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %q", text, s, err, want)
		}
	}
}
