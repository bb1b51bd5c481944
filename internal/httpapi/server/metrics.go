package server

import (
	"runtime"
	"strconv"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/meter"
	"zerodag/internal/node"
)

// measured holds the values on a metrics page.
type measured struct {
	stats   node.Stats
	memory  runtime.MemStats
	vitals  host.Vitals
	version string
	since   time.Time // when the process began to serve
}

// plain is a metric without workflow labels.
type plain struct {
	meter.Family
	value  func(m *measured) any
	labels func(m *measured) []string
	// shown reports whether the server has the metric; nil means always.
	shown func(c *endpoint.Call, m *measured) bool
}

// ofDatabase reports whether the server has a database whose figures it can read.
func ofDatabase(c *endpoint.Call, _ *measured) bool { return c.Vitals != nil }

func pooled(_ *endpoint.Call, m *measured) bool { return m.vitals.Connections != nil }

// plainMetrics lists the metrics that neither belong to a site nor are counted by a meter.
func plainMetrics() []plain {
	gauge := func(name, help string, value func(m *measured) any) plain {
		return plain{Family: meter.Family{Name: name, Kind: meter.Gauge, Help: help}, value: value}
	}
	count := func(name, help string, value func(m *measured) any) plain {
		return plain{Family: meter.Family{Name: name, Kind: meter.Counter, Help: help}, value: value}
	}
	only := func(p plain, shown func(*endpoint.Call, *measured) bool) plain {
		p.shown = shown
		return p
	}
	build := gauge("build_info", "1, with the version of this process", func(*measured) any { return 1 })
	build.Labels, build.labels = []string{"version"}, func(m *measured) []string { return []string{m.version} }
	return []plain{
		build,
		gauge("start_time_seconds", "when this process began to serve, in seconds since 1970", func(m *measured) any { return m.since.Unix() }),
		gauge("goroutines", "goroutines of the process", func(*measured) any { return runtime.NumGoroutine() }),
		gauge("heap_bytes", "live heap of the process", func(m *measured) any { return m.memory.HeapAlloc }),
		count("attempts_started_total", "attempts started by this process", func(m *measured) any { return m.stats.Started }),
		gauge("tasks_running", "runs of tasks in progress in this process", func(m *measured) any { return m.stats.TasksRunning }),
		count("schedules_fired_total", "attempts started by schedules in this process", func(m *measured) any { return m.stats.SchedulesFired }),
		gauge("schedule_delay_seconds", "how late the last schedule was that this process fired", func(m *measured) any { return m.stats.ScheduleDelay.Seconds() }),
		count("executor_errors_total", "failed steps, receipts and calls of the store that this process retries", func(m *measured) any { return m.stats.Errors }),
		only(gauge("disk_free_bytes", "free space on the volume of this server's data folder", func(m *measured) any { return m.vitals.Free }), ofDatabase),
		only(gauge("connections_max", "maximum number of connections from this process to the database", func(m *measured) any { return m.vitals.Connections.Most }), pooled),
		only(gauge("connections_open", "open connections from this process to the database", func(m *measured) any { return m.vitals.Connections.Open }), pooled),
		only(gauge("connections_in_use", "connections from this process that are in use", func(m *measured) any { return m.vitals.Connections.Used }), pooled),
		only(count("connection_waits_total", "how often a call had to wait for a connection", func(m *measured) any { return m.vitals.Connections.Waits }), pooled),
		only(count("connection_wait_seconds_total", "how long calls waited for connections", func(m *measured) any { return m.vitals.Connections.Waited.Seconds() }), pooled),
		only(gauge("database_size_bytes", "size of the database, including unmerged data", func(m *measured) any { return m.vitals.Database }), ofDatabase),
		only(gauge("database_queue_events", "steps of attempts that are due", func(m *measured) any { return m.vitals.Events }), ofDatabase),
		only(gauge("database_notices_waiting", "notifications that are not delivered yet and will be retried", func(m *measured) any { return m.vitals.Waiting }), ofDatabase),
		only(gauge("database_notices_given_up", "notifications that were given up and can be sent again", func(m *measured) any { return m.vitals.GivenUp }), ofDatabase),
		only(gauge("database_queue_tasks", "runs of tasks that are due or in progress", func(m *measured) any { return m.vitals.Tasks }), ofDatabase),
	}
}

func unfinished() meter.Family {
	return meter.Family{Name: "database_attempts_unfinished", Kind: meter.Gauge, Help: "attempts that have not ended", Labels: meter.OfWorkflow()}
}

func scheduleSuccess() meter.Family {
	return meter.Family{Name: "database_schedule_last_success_timestamp_seconds", Kind: meter.Gauge, Labels: meter.OfWorkflow(),
		Help: "when an attempt of a workflow with an enabled schedule last succeeded; if none of its last " + strconv.Itoa(host.CensusDepth) +
			" sessions did, when the schedule was created"}
}

func ofPool(name, help string) meter.Family {
	return meter.Family{Name: name, Kind: meter.Gauge, Help: help, Labels: []string{"site", "project", "pool"}}
}

func poolSlots() meter.Family {
	return ofPool("database_pool_slots", "slots of a pool; project is empty for a pool of the site. `concurrency:` and `limit:` begin the names of the pools of these keys")
}
func poolTaken() meter.Family {
	return ofPool("database_pool_slots_taken", "slots of a pool that tasks hold")
}
func poolWaiting() meter.Family {
	return ofPool("database_pool_waiting", "tasks and attempts that wait for slots of a pool")
}
func poolWait() meter.Family {
	return ofPool("database_pool_wait_seconds", "how long the oldest of them has waited; 0 if none waits")
}

// census lists the metrics of the database that have a site label.
func census() []meter.Family {
	return []meter.Family{unfinished(), scheduleSuccess(), poolSlots(), poolTaken(), poolWaiting(), poolWait()}
}

// Described lists all metrics, in page order.
func Described() (list []meter.Family) {
	for _, p := range plainMetrics() {
		list = append(list, p.Family)
	}
	list = append(list, meter.Process()...)
	list = append(list, meter.BySite()...)
	return append(list, census()...)
}

// getMetrics writes Prometheus' text format. A caller whose role is metrics or owner sees everything; any other caller
// sees the metrics of the caller's site, because the other metrics describe the work of all sites together.
func (r *Room) getMetrics(c *endpoint.Call) (any, error) {
	site, p := c.Actor.Site, &meter.Page{}
	if c.Actor.Role >= access.Owner || c.Actor.Role == access.Metrics {
		site = host.AnySite
		if err := r.writePlain(c, p); err != nil {
			return nil, err
		}
	}
	c.Meter.WriteSites(p, site)
	if c.Census != nil {
		all, err := c.Census(c.Ctx(), c.Meter.Limit())
		if err != nil {
			return nil, err
		}
		writeCensus(p, all, site, c.Meter.Limit(), c.Now())
	}
	return endpoint.Document{Type: "text/plain; version=0.0.4; charset=utf-8", Text: p.Bytes()}, nil
}

// writePlain writes the metrics of this process and of the whole database.
func (r *Room) writePlain(c *endpoint.Call, p *meter.Page) error {
	m := &measured{stats: c.Node.Stats(), version: c.Version, since: r.since}
	runtime.ReadMemStats(&m.memory)
	if c.Vitals != nil {
		var err error
		if m.vitals, err = c.Vitals(c.Ctx()); err != nil {
			return err
		}
	}
	for _, d := range plainMetrics() {
		switch {
		case d.shown != nil && !d.shown(c, m):
		case d.labels != nil:
			p.Add(d.Family, d.value(m), d.labels(m)...)
		default:
			p.Add(d.Family, d.value(m))
		}
	}
	c.Meter.WriteProcess(p)
	return nil
}

// writeCensus writes the figures for one site, or for all sites with host.AnySite.
func writeCensus(p *meter.Page, all host.Census, site int64, limit int, now time.Time) {
	fits := func(of int64) bool { return site == host.AnySite || of == site }
	labels := func(w host.WorkflowName) []string {
		return []string{strconv.FormatInt(w.Site, 10), w.Project, w.Workflow}
	}
	more, order := map[int64]int{}, []int64{} // attempts of workflows above the limit, by site
	for i, w := range all.Unfinished {
		switch {
		case !fits(w.Site):
		case i < limit:
			p.Add(unfinished(), w.Attempts, labels(w.WorkflowName)...)
		default:
			if more[w.Site] == 0 {
				order = append(order, w.Site)
			}
			more[w.Site] += w.Attempts
		}
	}
	for _, s := range order {
		p.Add(unfinished(), more[s], labels(host.WorkflowName{Site: s, Project: meter.Other, Workflow: meter.Other})...)
	}
	for _, w := range all.Succeeded {
		if fits(w.Site) {
			p.Add(scheduleSuccess(), w.At.Unix(), labels(w.WorkflowName)...)
		}
	}
	each := func(f meter.Family, value func(host.PoolCount) any) {
		for _, x := range all.Pools {
			if fits(x.Site) {
				p.Add(f, value(x), strconv.FormatInt(x.Site, 10), x.Project, x.Name)
			}
		}
	}
	each(poolSlots(), func(x host.PoolCount) any { return x.Slots })
	each(poolTaken(), func(x host.PoolCount) any { return x.Taken })
	each(poolWaiting(), func(x host.PoolCount) any { return x.Waiting })
	each(poolWait(), func(x host.PoolCount) any {
		if x.Since.IsZero() {
			return 0.0
		}
		return max(0, now.Sub(x.Since)).Seconds()
	})
}
