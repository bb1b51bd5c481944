package httpapi

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// buckets are the upper bounds of the timers' histograms, in seconds.
var buckets = [...]float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60} // never changed

// metrics counts in this process.
type metrics struct {
	timers map[string]*timer // by name of the endpoint; filled once
	names  []string          // in the order of the page
	panics atomic.Int64
}

// timer is a histogram; counts[len(buckets)] holds what is above all bounds.
type timer struct {
	counts [len(buckets) + 1]atomic.Int64
	nanos  atomic.Int64
}

func newMetrics(list []route) *metrics {
	m := &metrics{timers: map[string]*timer{}}
	for _, rt := range list {
		if m.timers[rt.name] == nil {
			m.timers[rt.name] = &timer{}
			m.names = append(m.names, rt.name)
		}
	}
	slices.Sort(m.names)
	return m
}

func (m *metrics) observe(name string, d time.Duration) {
	t := m.timers[name]
	i := 0
	for i < len(buckets) && d.Seconds() > buckets[i] {
		i++
	}
	t.counts[i].Add(1)
	t.nanos.Add(int64(d))
}

// getMetrics writes Prometheus' text format. Timers keep the original's names: api_ and
// the name of the method.
func getMetrics(c *call) (any, error) {
	var b bytes.Buffer
	one := func(name, kind, help string, value any) {
		fmt.Fprintf(&b, "# HELP zerodag_%s %s\n# TYPE zerodag_%s %s\nzerodag_%s %v\n", name, help, name, kind, name, value)
	}
	s := c.Node.Stats()
	one("attempts_started_total", "counter", "attempts started by this process", s.Started)
	one("attempts_finished_total", "counter", "attempts that ended in this process", s.Finished)
	one("attempts_failed_total", "counter", "of these, those that were no success", s.Failed)
	one("tasks_run_total", "counter", "runs of tasks that ended", s.TasksRun)
	one("tasks_running", "gauge", "runs of tasks right now", s.TasksRunning)
	one("schedules_fired_total", "counter", "attempts started by schedules", s.SchedulesFired)
	one("schedule_delay_seconds", "gauge", "how late the last schedule fired", s.ScheduleDelay.Seconds())
	one("executor_errors_total", "counter", "messages that will be tried again", s.Errors)
	one("api_uncaught_errors_total", "counter", "requests that panicked", c.metrics.panics.Load())
	one("goroutines", "gauge", "goroutines of the process", runtime.NumGoroutine())
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	one("heap_bytes", "gauge", "live heap of the process", memory.HeapAlloc)
	for _, name := range c.metrics.names {
		c.metrics.timers[name].write(&b, "zerodag_api_"+name+"_seconds")
	}
	return document{"text/plain; version=0.0.4; charset=utf-8", b.Bytes()}, nil
}

// write writes a histogram, unless nothing was observed.
func (t *timer) write(b *bytes.Buffer, name string) {
	var counts [len(buckets) + 1]int64
	total := int64(0)
	for i := range t.counts {
		total += t.counts[i].Load()
		counts[i] = total
	}
	if total == 0 {
		return
	}
	fmt.Fprintf(b, "# TYPE %s histogram\n", name)
	for i, bound := range buckets {
		fmt.Fprintf(b, "%s_bucket{le=\"%v\"} %d\n", name, bound, counts[i])
	}
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %v\n%s_count %d\n", name, total, name, time.Duration(t.nanos.Load()).Seconds(), name, total)
}
