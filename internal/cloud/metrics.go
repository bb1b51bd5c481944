package cloud

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"zerodag/internal/node"
)

// namespace of the metrics in CloudWatch.
const namespace = "zerodag"

// measure notes what a call did: what it returns is to be called at the end and writes one
// line in CloudWatch's embedded metric format. A call that did nothing writes nothing: each
// metric is paid for by the hours in which it has a value.
func (e *Engine) measure(function string) func() {
	before, began := e.Stats(), time.Now()
	return func() {
		if line := metricLine(e.Config.Stage, function, before, e.Stats(), began, time.Now()); line != nil {
			fmt.Fprintln(os.Stdout, string(line))
		}
	}
}

// metric is a number with its unit in CloudWatch.
type metric struct {
	Name string
	Unit string
}

func metricLine(stage, function string, before, after node.Stats, began, now time.Time) []byte {
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
		panic("cloud: " + err.Error()) // texts and numbers can always be written
	}
	return text
}
