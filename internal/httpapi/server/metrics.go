package server

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/node"
)

// buckets are the upper bounds of the timers' histograms, in seconds.
var buckets = [...]float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60} // never changed

// Metrics holds the counters of this process.
type Metrics struct {
	timers map[string]*timer // by name of the endpoint; filled once
	Names  []string          // in the order on the page
	Panics atomic.Int64
	since  time.Time // when the process began to serve
}

// timer is a histogram; counts[len(buckets)] counts values above all bounds.
type timer struct {
	counts [len(buckets) + 1]atomic.Int64
	nanos  atomic.Int64
}

// NewMetrics returns empty counters.
func NewMetrics(since time.Time) *Metrics { return &Metrics{timers: map[string]*timer{}, since: since} }

// Time creates a timer for each endpoint of a list.
func (m *Metrics) Time(list []endpoint.Route) {
	for _, rt := range list {
		if m.timers[rt.Name] == nil {
			m.timers[rt.Name] = &timer{}
			m.Names = append(m.Names, rt.Name)
		}
	}
	slices.Sort(m.Names)
}

// Observe records how long a request to an endpoint took.
func (m *Metrics) Observe(name string, d time.Duration) {
	t := m.timers[name]
	i := 0
	for i < len(buckets) && d.Seconds() > buckets[i] {
		i++
	}
	t.counts[i].Add(1)
	t.nanos.Add(int64(d))
}

// measured holds the values of a page of metrics.
type measured struct {
	stats   node.Stats
	panics  int64
	memory  runtime.MemStats
	vitals  host.Vitals
	version string
	since   time.Time
}

// Metric is a number on the page; docs/production.md lists all of them. Names are without "zerodag_".
type Metric struct {
	Name, Kind, Help string
	value            func(m *measured) any
	vital            bool // only if the server has its own disk
}

// Described lists the metrics except the timers of endpoints.
func Described() []Metric {
	return []Metric{
		{"attempts_started_total", "counter", "attempts started by this process", func(m *measured) any { return m.stats.Started }, false},
		{"attempts_finished_total", "counter", "attempts that ended in this process", func(m *measured) any { return m.stats.Finished }, false},
		{"attempts_failed_total", "counter", "attempts that ended in this process without success", func(m *measured) any { return m.stats.Failed }, false},
		{"attempts_unfinished", "gauge", "unfinished attempts of all sites", func(m *measured) any { return m.vitals.Unfinished }, true},
		{"tasks_run_total", "counter", "runs of tasks that ended", func(m *measured) any { return m.stats.TasksRun }, false},
		{"tasks_running", "gauge", "runs of tasks in progress", func(m *measured) any { return m.stats.TasksRunning }, false},
		{"queue_events", "gauge", "steps of attempts that are due", func(m *measured) any { return m.vitals.Events }, true},
		{"queue_tasks", "gauge", "runs of tasks that are due or in progress", func(m *measured) any { return m.vitals.Tasks }, true},
		{"schedules_fired_total", "counter", "attempts started by schedules", func(m *measured) any { return m.stats.SchedulesFired }, false},
		{"schedule_delay_seconds", "gauge", "how late the last schedule fired", func(m *measured) any { return m.stats.ScheduleDelay.Seconds() }, false},
		{"executor_errors_total", "counter", "messages that will be retried", func(m *measured) any { return m.stats.Errors }, false},
		{"api_uncaught_errors_total", "counter", "requests that panicked", func(m *measured) any { return m.panics }, false},
		{"database_bytes", "gauge", "size of the database files, including unmerged data", func(m *measured) any { return m.vitals.Database }, true},
		{"disk_free_bytes", "gauge", "free space on the volume of the data", func(m *measured) any { return m.vitals.Free }, true},
		{"start_time_seconds", "gauge", "when this process began to serve, in seconds since 1970", func(m *measured) any { return m.since.Unix() }, false},
		{"goroutines", "gauge", "goroutines of the process", func(*measured) any { return runtime.NumGoroutine() }, false},
		{"heap_bytes", "gauge", "live heap of the process", func(m *measured) any { return m.memory.HeapAlloc }, false},
	}
}

// getMetrics writes Prometheus' text format. Timers keep Digdag's names: api_ and
// the name of the method.
func (r *Room) getMetrics(c *endpoint.Call) (any, error) {
	m := &measured{stats: c.Node.Stats(), panics: r.Metrics.Panics.Load(), version: c.Version, since: r.Metrics.since}
	runtime.ReadMemStats(&m.memory)
	if c.Vitals != nil {
		var err error
		if m.vitals, err = c.Vitals(c.Ctx()); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# HELP zerodag_build_info 1, with the version of this process\n# TYPE zerodag_build_info gauge\nzerodag_build_info{version=%q} 1\n", m.version)
	for _, d := range Described() {
		if d.vital && c.Vitals == nil {
			continue
		}
		fmt.Fprintf(&b, "# HELP zerodag_%s %s\n# TYPE zerodag_%s %s\nzerodag_%s %v\n", d.Name, d.Help, d.Name, d.Kind, d.Name, d.value(m))
	}
	for _, name := range r.Metrics.Names {
		r.Metrics.timers[name].write(&b, "zerodag_api_"+name+"_seconds")
	}
	return endpoint.Document{Type: "text/plain; version=0.0.4; charset=utf-8", Text: b.Bytes()}, nil
}

// write writes a histogram unless nothing was observed.
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
