package cloud

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// TestWorkflowMetrics proves that attempts are counted once, and only for the projects and workflows that the settings
// name.
func TestWorkflowMetrics(t *testing.T) {
	t.Parallel()
	m := newAttemptMetrics(env.Config{MetricsOf: []string{"sales", "sales/nightly", "ops/clean"}})
	began := time.Unix(1_800_000_000, 0)
	end := func(project, workflow string, success bool, seconds int) {
		m.AttemptEnded(host.Attempt{Project: host.Ref{Name: project}, Workflow: host.Ref{Name: workflow}, Success: success, Done: true, CreatedAt: began, FinishedAt: began.Add(time.Duration(seconds) * time.Second)})
	}
	end("sales", "nightly", true, 10)
	end("sales", "nightly", false, 20)
	end("sales", "hourly", true, 30)
	end("ops", "other", true, 40)
	end("nightly", "sales", true, 50)
	var got []string
	for _, text := range m.lines("main", began) {
		var line struct {
			Project, Workflow string
			AttemptsFinished  int
			AttemptsFailed    int
			AttemptSeconds    []float64
			AWS               struct {
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name, Unit string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		d := line.AWS.CloudWatchMetrics[0]
		got = append(got, fmt.Sprintf("%s/%s %d %d %v %v %d", line.Project, line.Workflow, line.AttemptsFinished, line.AttemptsFailed, line.AttemptSeconds, d.Dimensions, len(d.Metrics)))
	}
	slices.Sort(got)
	want := []string{"sales/ 3 1 [10 20 30] [[stage project]] 3", "sales/nightly 2 1 [10 20] [[stage project workflow]] 3"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if again := m.lines("main", began); len(again) != 0 {
		t.Errorf("counted twice: %s", again)
	}
	for range 1000 {
		end("sales", "nightly", true, 1)
	}
	for _, text := range m.lines("main", began) {
		if len(text) > 8<<10 {
			t.Errorf("a line is %d bytes", len(text))
		}
	}
}
