package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"zerodag/internal/env"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// namespace is the metrics' namespace in CloudWatch.
const namespace = "zerodag"

// measure records a call's work. At the end, the caller calls the returned function, which writes one line in
// CloudWatch's embedded metric format. A call that did nothing writes nothing, because AWS bills each metric for the
// hours in which it has a value.
func (e *Engine) measure(function string) func() {
	before, began := e.counted(), time.Now()
	return func() {
		for _, line := range e.attempts.lines(e.Config.Stage, time.Now()) {
			fmt.Fprintln(os.Stdout, string(line))
		}
		after, now := e.counted(), time.Now()
		for _, line := range [][]byte{metricLine(e.Config.Stage, function, before, after, began, now), releaseLine(e.Config.Stage, function, e.version(), before, after, now)} {
			if line != nil {
				fmt.Fprintln(os.Stdout, string(line))
			}
		}
	}
}

// counts holds a process's totals.
type counts struct {
	node.Stats
	NoEvaluator int64 // expression evaluators that could not be started
	Answers     int64 // responses that report a server error (5xx)
}

func (e *Engine) counted() counts {
	c := counts{Answers: e.refused.Load()}
	if e.Node != nil { // in tests, an engine may only serve machines
		c.Stats = e.Stats()
	}
	if e.pool != nil { // the API evaluates no expressions
		c.NoEvaluator = e.pool.Unstarted()
	}
	return c
}

// metric is a number with its CloudWatch unit.
type metric struct {
	Name string
	Unit string
}

func metricLine(stage, function string, before, after counts, began, now time.Time) []byte {
	line := map[string]any{"stage": stage, "function": function, "milliseconds": now.Sub(began).Milliseconds()}
	var metrics []metric
	count := func(name string, before, after int64) {
		if n := after - before; n > 0 {
			metrics = append(metrics, metric{name, "Count"})
			line[name] = n
		}
	}
	count("AttemptsStarted", before.Started, after.Started)
	count("AttemptsFinished", before.Finished, after.Finished)
	count("AttemptsFailed", before.Failed, after.Failed)
	count("TasksRun", before.TasksRun, after.TasksRun)
	count("Errors", before.Errors, after.Errors)
	count("NoEvaluator", before.NoEvaluator, after.NoEvaluator)
	count("SchedulesFired", before.SchedulesFired, after.SchedulesFired)
	if after.SchedulesFired > before.SchedulesFired {
		metrics = append(metrics, metric{"ScheduleDelay", "Milliseconds"})
		line["ScheduleDelay"] = after.ScheduleDelay.Milliseconds()
	}
	if len(metrics) == 0 {
		return nil
	}
	line["_aws"] = map[string]any{"Timestamp": now.UnixMilli(), "CloudWatchMetrics": []any{
		map[string]any{"Namespace": namespace, "Dimensions": [][]string{{"stage"}}, "Metrics": metrics}}}
	text, err := json.Marshal(line)
	if err != nil {
		panic("cloud: " + err.Error()) // strings and numbers can always be written
	}
	return text
}

// version returns this function's published version if deploys are gradual; "" if they are not, or in a call to
// $LATEST.
func (e *Engine) version() string {
	if v := lambdacontext.FunctionVersion; e.Config.Gradual && v != "$LATEST" {
		return v
	}
	return ""
}

// releaseLine counts the failures of a function version. Alarms on these counts stop a gradual deploy. The metric
// Errors has no version, so it would blame the new version for the old version's errors. releaseLine returns nil if
// nothing failed.
func releaseLine(stage, function, version string, before, after counts, now time.Time) []byte {
	n := after.Errors - before.Errors + after.NoEvaluator - before.NoEvaluator + after.Answers - before.Answers
	if version == "" || n <= 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{"stage": stage, "function": function, "version": version, "ReleaseErrors": n,
		"_aws": map[string]any{"Timestamp": now.UnixMilli(), "CloudWatchMetrics": []any{
			map[string]any{"Namespace": namespace, "Dimensions": [][]string{{"stage", "function", "version"}}, "Metrics": []metric{{"ReleaseErrors", "Count"}}}}}})
	if err != nil {
		panic("cloud: " + err.Error()) // strings and numbers can always be written
	}
	return text
}

// attemptMetrics counts ended attempts for the projects and workflows that have separate metrics. AWS bills each
// combination of dimensions as additional metrics, so only the projects and workflows in the settings have them.
type attemptMetrics struct {
	host.Unobserved
	of map[string]bool

	mu     sync.Mutex
	counts map[dimensions]*ends
}

// dimensions distinguish metrics that have the same name. workflow is empty for a project's metrics.
type dimensions struct{ project, workflow string }

// ends counts the attempts that ended in a call, and how long each took.
type ends struct {
	finished, failed int
	seconds          []float64
}

func newAttemptMetrics(config env.Config) *attemptMetrics {
	m := &attemptMetrics{of: map[string]bool{}, counts: map[dimensions]*ends{}}
	for _, name := range config.MetricsOf {
		m.of[name] = true
	}
	return m
}

// AttemptEnded implements host.Observer.
func (m *attemptMetrics) AttemptEnded(a host.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range []dimensions{{project: a.Project.Name}, {a.Project.Name, a.Workflow.Name}} {
		name := d.project
		if d.workflow != "" {
			name += "/" + d.workflow
		}
		if !m.of[name] {
			continue
		}
		e := m.counts[d]
		if e == nil {
			e = &ends{}
			m.counts[d] = e
		}
		if e.finished++; !a.Success {
			e.failed++
		}
		if len(e.seconds) < mostValues {
			e.seconds = append(e.seconds, max(0, a.FinishedAt.Sub(a.BeginsAt()).Seconds()))
		}
	}
}

// mostValues is the maximum number of values that the embedded metric format accepts for one metric.
const mostValues = 100

// lines returns the counts since the last call, in CloudWatch's embedded metric format.
func (m *attemptMetrics) lines(stage string, now time.Time) (list [][]byte) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	counts := m.counts
	m.counts = map[dimensions]*ends{}
	m.mu.Unlock()
	for d, e := range counts {
		line := map[string]any{"stage": stage, "project": d.project, "AttemptsFinished": e.finished, "AttemptsFailed": e.failed, "AttemptSeconds": e.seconds}
		names := []string{"stage", "project"}
		if d.workflow != "" {
			line["workflow"], names = d.workflow, append(names, "workflow")
		}
		line["_aws"] = map[string]any{"Timestamp": now.UnixMilli(), "CloudWatchMetrics": []any{map[string]any{"Namespace": namespace, "Dimensions": [][]string{names},
			"Metrics": []metric{{"AttemptsFinished", "Count"}, {"AttemptsFailed", "Count"}, {"AttemptSeconds", "Seconds"}}}}}
		text, err := json.Marshal(line)
		if err != nil {
			panic("cloud: " + err.Error()) // strings and numbers can always be written
		}
		list = append(list, text)
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}
