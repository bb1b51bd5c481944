package meter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/meter"
)

var _ host.Observer = (*meter.Meter)(nil)

// ended returns an attempt that ended after some seconds.
func ended(site int64, project, workflow string, success bool, seconds int) host.Attempt {
	began := time.Unix(1_800_000_000, 0)
	return host.Attempt{Site: site, Project: host.Ref{Name: project}, Workflow: host.Ref{Name: workflow}, Done: true, Success: success,
		CreatedAt: began, FinishedAt: began.Add(time.Duration(seconds) * time.Second)}
}

// wantLines checks that a page has all lines.
func wantLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, "zerodag_"+line+"\n") {
			t.Errorf("no %s in\n%s", line, page)
		}
	}
}

func sites(m *meter.Meter, site int64) string {
	var p meter.Page
	m.WriteSites(&p, site)
	return string(p.Bytes())
}

// TestWorkflows proves that attempts are counted by workflow and result, with their durations, the last success, missed
// service levels and late starts.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	m := meter.New(0)
	m.AttemptEnded(ended(0, "sales", "nightly", true, 10))
	m.AttemptEnded(ended(0, "sales", "nightly", true, 400))
	m.AttemptEnded(ended(0, "sales", "nightly", false, 1000))
	killed := ended(0, "sales", "nightly", false, 1)
	killed.Canceled = true
	m.AttemptEnded(killed)
	m.SLAMissed(ended(0, "sales", "nightly", false, 0))
	m.StartedLate(ended(0, "sales", "hourly", false, 0))
	const nightly = `site="0",project="sales",workflow="nightly"`
	page := sites(m, host.AnySite)
	wantLines(t, page, `attempts_ended_total{`+nightly+`,result="success"} 2`, `attempts_ended_total{`+nightly+`,result="error"} 1`, `attempts_ended_total{`+nightly+`,result="killed"} 1`,
		`attempt_duration_seconds_bucket{`+nightly+`,le="15"} 2`, `attempt_duration_seconds_bucket{`+nightly+`,le="900"} 3`, `attempt_duration_seconds_bucket{`+nightly+`,le="+Inf"} 4`,
		`attempt_duration_seconds_sum{`+nightly+`} 1411`, `attempt_duration_seconds_count{`+nightly+`} 4`,
		`attempt_last_success_timestamp_seconds{`+nightly+`} 1800000400`, `attempts_sla_missed_total{`+nightly+`} 1`, `attempts_started_late_total{site="0",project="sales",workflow="hourly"} 1`)
	if strings.Contains(page, `last_success_timestamp_seconds{site="0",project="sales",workflow="hourly"`) {
		t.Error("a workflow that never succeeded has a last success")
	}
}

// TestOperators proves that task runs are counted by operator and result.
func TestOperators(t *testing.T) {
	t.Parallel()
	m := meter.New(0)
	m.TaskRan(3, "sh", host.RunSucceeded, 2*time.Second)
	m.TaskRan(3, "sh", host.RunAgain, 20*time.Millisecond)
	wantLines(t, sites(m, 3), `task_runs_total{site="3",operator="sh",result="success"} 1`, `task_runs_total{site="3",operator="sh",result="again"} 1`,
		`task_run_duration_seconds_bucket{site="3",operator="sh",le="0.1"} 1`, `task_run_duration_seconds_sum{site="3",operator="sh"} 2.02`)
	if page := sites(m, 4); page != "" {
		t.Errorf("another site sees %s", page)
	}
}

// TestLimit proves that the number of series has a limit, that everything above it is counted together for each site,
// and that known workflows keep their series.
func TestLimit(t *testing.T) {
	t.Parallel()
	m := meter.New(2)
	for i := range 100 {
		m.AttemptEnded(ended(0, "sales", fmt.Sprint("w", i), true, 1))
		m.TaskRan(0, fmt.Sprint("plugin", i), host.RunSucceeded, time.Second)
	}
	m.AttemptEnded(ended(0, "sales", "w1", true, 1))
	m.AttemptEnded(ended(1, "other", "w", false, 1))
	page := sites(m, host.AnySite)
	wantLines(t, page, `attempts_ended_total{site="0",project="sales",workflow="w1",result="success"} 2`,
		`attempts_ended_total{site="0",project="_other",workflow="_other",result="success"} 98`,
		`attempts_ended_total{site="1",project="_other",workflow="_other",result="error"} 1`,
		`task_runs_total{site="0",operator="_other",result="success"} 98`)
	if n := strings.Count(page, "zerodag_attempts_ended_total{"); n != 4 {
		t.Errorf("%d series, want 4", n)
	}
}

// TestEscaping proves that no user's text can break the page or add a line to it.
func TestEscaping(t *testing.T) {
	t.Parallel()
	m := meter.New(0)
	m.StartedLate(ended(0, "a\"} 1\nb\\", "w\xff", true, 1))
	wantLines(t, sites(m, 0), `attempts_started_late_total{site="0",project="a\"} 1\nb\\",workflow="w�"} 1`)
}

// TestProcess proves that requests, panics, leases and notices are counted.
func TestProcess(t *testing.T) {
	t.Parallel()
	m := meter.New(0)
	m.Answered("getProject", 3*time.Millisecond)
	m.Answered("getProject", time.Second)
	m.Panicked()
	m.LeaseLost()
	m.NoticeLost(host.Attempt{})
	var p meter.Page
	m.WriteProcess(&p)
	wantLines(t, string(p.Bytes()), "api_panics_total 1", "leases_lost_total 1", "notices_lost_total 1",
		`api_request_duration_seconds_bucket{endpoint="getProject",le="0.005"} 1`, `api_request_duration_seconds_count{endpoint="getProject"} 2`)
}
