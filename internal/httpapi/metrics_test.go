package httpapi

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"zerodag/internal/httpapi/server"
	"zerodag/internal/meter"
)

// metricTable returns the table of a server's metrics, generated from the code.
func metricTable() string {
	var b strings.Builder
	b.WriteString("| metric | kind | labels | |\n|---|---|---|---|\n")
	for _, f := range server.Described() {
		labels := "–"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.FullName(), f.Kind, labels, f.Help)
	}
	return b.String()
}

// TestMetricTable proves that docs/production.md lists every metric of the server and no other.
func TestMetricTable(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/production.md", "<!-- metrics -->\n", "<!-- end of metrics -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+begin+metricTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, metricTable()); diff != "" {
		t.Errorf("%s is out of date: go test ./internal/httpapi -run TestMetricTable -rewrite\n%s", page, diff)
	}
}

// isMeasured reports whether a name that a query uses belongs to a metric.
func isMeasured(name string) bool {
	return slices.ContainsFunc(server.Described(), func(f meter.Family) bool {
		if f.Kind != meter.Histogram {
			return f.FullName() == name
		}
		part, found := strings.CutPrefix(name, f.FullName()+"_")
		return found && slices.Contains([]string{"bucket", "sum", "count"}, part)
	})
}

// queries returns the queries of the alert rules and of the dashboard.
func queries(t *testing.T) (list []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct{ Summary, Runbook string }
			}
		}
	}
	text, err := os.ReadFile("../../packaging/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			list = append(list, r.Expr)
			_, anchor, _ := strings.Cut(r.Annotations.Runbook, "docs/production.md#")
			heading := regexp.MustCompile(`(?im)^###? ` + regexp.QuoteMeta(strings.ReplaceAll(anchor, "-", " ")) + `$`)
			if r.Alert == "" || r.Annotations.Summary == "" || anchor == "" || !heading.Match(page) {
				t.Errorf("the rule %q has no summary, or its runbook %q is not in docs/production.md", r.Alert, r.Annotations.Runbook)
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if text, err = os.ReadFile("../../packaging/files/grafana.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			list = append(list, q.Expr)
		}
	}
	return list
}

// TestQueriesAreMeasured proves that alert rules and dashboard use only metrics that a server measures.
func TestQueriesAreMeasured(t *testing.T) {
	t.Parallel()
	list := queries(t)
	if len(list) < 20 {
		t.Errorf("%d queries, there are more", len(list))
	}
	for _, q := range list {
		names := regexp.MustCompile(`zerodag_\w+`).FindAllString(q, -1)
		for _, name := range names {
			if !isMeasured(name) {
				t.Errorf("%s: no server measures %s", q, name)
			}
		}
		if len(names) == 0 && !strings.Contains(q, `up{job="zerodag"}`) {
			t.Errorf("%s asks for no metric of zerodag", q)
		}
	}
	for _, name := range []string{"zerodag_up", "zerodag_api_nothing_seconds_bucket", "zerodag_heap_bytes_total", "zerodag_attempt_duration_seconds"} {
		if isMeasured(name) {
			t.Errorf("%s is taken for a metric", name)
		}
	}
}
