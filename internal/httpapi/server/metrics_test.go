package server

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/meter"
	"zerodag/internal/node"
)

// attemptOf returns an attempt of a workflow that succeeded after 7 seconds.
func attemptOf(site int64, workflow string) host.Attempt {
	began := time.Unix(1_800_000_000, 0)
	return host.Attempt{Site: site, Project: host.Ref{Name: "sales"}, Workflow: host.Ref{Name: workflow}, CreatedAt: began,
		FinishedAt: began.Add(7 * time.Second), Done: true, Success: true}
}

// metricsFor returns the page that a caller gets from a server where events of every kind have occurred in two sites.
func metricsFor(t *testing.T, by access.Actor) string {
	t.Helper()
	m := meter.New(0)
	var all host.Census
	for s := range int64(2) {
		workflow := fmt.Sprint("nightly", s)
		m.AttemptEnded(attemptOf(s, workflow))
		m.SLAMissed(attemptOf(s, workflow))
		m.StartedLate(attemptOf(s, workflow))
		m.TaskRan(s, fmt.Sprint("sh", s), host.RunFailed, time.Second)
		w := host.WorkflowName{Site: s, Project: "sales", Workflow: workflow}
		all.Unfinished = append(all.Unfinished, host.WorkflowCount{WorkflowName: w, Attempts: 2})
		all.Succeeded = append(all.Succeeded, host.WorkflowTime{WorkflowName: w, At: time.Unix(1_800_000_000, 0)})
		all.Pools = append(all.Pools, host.PoolCount{Site: s, Name: fmt.Sprint("pool", s), Slots: 2, Taken: 1})
	}
	m.LeaseLost()
	m.NoticeLost(host.Attempt{})
	m.Panicked()
	m.Answered("getProject", time.Second)
	s := endpoint.NewServer(endpoint.Options{Node: node.New(node.Options{}), Version: "1", Meter: m,
		Census: func(context.Context, int) (host.Census, error) { return all, nil },
		Vitals: func(context.Context) (host.Vitals, error) {
			return host.Vitals{Connections: &host.Connections{Most: 9}}, nil
		}})
	r := &Room{since: time.Unix(1_800_000_000, 0)}
	answer, err := r.getMetrics(endpoint.NewCall(s, &access.Caller{Actor: by, R: httptest.NewRequest("GET", "/api/metrics", nil)}))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.(endpoint.Document).Text)
}

// TestMetricsAreWellNamed proves that the page can be parsed, has every described metric once, and follows Prometheus'
// conventions for names, kinds and units.
func TestMetricsAreWellNamed(t *testing.T) {
	t.Parallel()
	page := metricsFor(t, access.Actor{Role: access.Owner})
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatalf("%v in\n%s", err, page)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range Described() {
		if n := strings.Count(page, "# TYPE "+f.FullName()+" "+f.Kind+"\n"); n != 1 {
			t.Errorf("%s is on the page %d times, want once", f.FullName(), n)
		}
	}
	bad := "# HELP zerodag_someThing x\n# TYPE zerodag_someThing counter\nzerodag_someThing 1\n"
	if problems, err := promlint.New(strings.NewReader(bad)).Lint(); err != nil || len(problems) == 0 {
		t.Errorf("a bad name is accepted: %v", err)
	}
}

// TestMetricsOfASite proves that a caller who belongs to a site gets the metrics of that site, and nothing about other
// sites or about all sites together.
func TestMetricsOfASite(t *testing.T) {
	t.Parallel()
	whole, page := metricsFor(t, access.Actor{Role: access.Owner, Site: 1}), metricsFor(t, access.Actor{Role: access.Admin, Site: 1})
	for _, other := range []string{`site="0"`, "nightly0", "pool0", "sh0"} {
		if !strings.Contains(whole, other) || strings.Contains(page, other) {
			t.Errorf("%s: an owner sees it: %t, site 1 sees it: %t", other, strings.Contains(whole, other), strings.Contains(page, other))
		}
	}
	var want, got []string
	for _, f := range Described() {
		if slices.Contains(f.Labels, "site") {
			want = append(want, f.FullName())
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(want, got) || len(want) < 10 {
		t.Errorf("site 1 sees %v, want the metrics with a label site: %v", got, want)
	}
}

// TestCensusAboveTheLimit proves that attempts of workflows above the limit are added up for each site.
func TestCensusAboveTheLimit(t *testing.T) {
	t.Parallel()
	var all host.Census
	for i := range 5 {
		all.Unfinished = append(all.Unfinished, host.WorkflowCount{WorkflowName: host.WorkflowName{Site: int64(i % 2), Project: "p", Workflow: fmt.Sprint(i)}, Attempts: 1 + i})
	}
	var p meter.Page
	writeCensus(&p, all, host.AnySite, 2, time.Time{})
	var lines []string
	for line := range strings.Lines(string(p.Bytes())) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "zerodag_database_attempts_unfinished")))
		}
	}
	want := []string{`{site="0",project="p",workflow="0"} 1`, `{site="1",project="p",workflow="1"} 2`,
		`{site="0",project="_other",workflow="_other"} 8`, `{site="1",project="_other",workflow="_other"} 4`}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
