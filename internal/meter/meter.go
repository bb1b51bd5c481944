// Package meter counts what a server does, by workflow, operator and endpoint, and writes the counts as a page for
// Prometheus (docs/production.md#monitoring).
//
// The host calls a Meter when something happens, and the API reads it. It counts what happens in one process, from 0 at
// its start. The package must never read a store or a clock.
package meter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Other is the label value that stands for everything above the limit on series.
const Other = "_other"

// DefaultSeries is the default limit on series.
const DefaultSeries = 1000

// Meter counts. It is a host.Observer, and safe for concurrent use.
type Meter struct {
	limit int

	mu        sync.Mutex
	workflows map[workflow]*attempts
	operators map[operator]*runs
	endpoints map[string]*histogram
	leases    int64
	notices   int64
	servers   int64
	panics    int64
}

type workflow struct {
	site          int64
	project, name string
}

type operator struct {
	site int64
	name string
}

// attempts counts a workflow's attempts that ended or were late.
type attempts struct {
	ended     map[string]int64 // by result
	seconds   *histogram
	succeeded time.Time // the last time; zero for never
	missed    int64
	late      int64
}

// runs counts an operator's task runs.
type runs struct {
	ended   map[host.RunResult]int64
	seconds *histogram
}

// New returns a Meter that counts at most limit workflows, and as many operators, separately; 0 means DefaultSeries.
func New(limit int) *Meter {
	return &Meter{limit: cmp.Or(limit, DefaultSeries), workflows: map[workflow]*attempts{}, operators: map[operator]*runs{}, endpoints: map[string]*histogram{}}
}

// Limit returns the maximum number of series of a metric that has one series for each workflow.
func (m *Meter) Limit() int { return m.limit }

// The histogram bounds, in seconds. They never change: Prometheus cannot add up series with different bounds.
func attemptBounds() []float64 {
	return []float64{1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 12 * 3600, 24 * 3600}
}
func runBounds() []float64     { return []float64{0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 12 * 3600} }
func requestBounds() []float64 { return []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60} }

// of returns a workflow's counts or, above the limit, the shared counts of all further workflows on its site. The lock
// is held.
func (m *Meter) of(a host.Attempt) *attempts {
	return within(m.workflows, m.limit, workflow{a.Site, a.Project.Name, a.Workflow.Name}, workflow{a.Site, Other, Other}, func() *attempts {
		return &attempts{ended: map[string]int64{}, seconds: newHistogram(attemptBounds())}
	})
}

// within returns the element for a key. If the map is full, it returns the element for the key that stands for others.
func within[K comparable, V any](all map[K]*V, limit int, key, other K, fresh func() *V) *V {
	v := all[key]
	if v == nil && len(all) >= limit {
		key = other
		v = all[key]
	}
	if v == nil {
		v = fresh()
		all[key] = v
	}
	return v
}

// AttemptEnded implements host.Observer.
func (m *Meter) AttemptEnded(a host.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.of(a)
	w.ended[a.Status()]++
	w.seconds.observe(max(0, a.FinishedAt.Sub(a.BeginsAt()).Seconds()))
	if a.Success && a.FinishedAt.After(w.succeeded) {
		w.succeeded = a.FinishedAt
	}
}

// StartedLate implements host.Observer.
func (m *Meter) StartedLate(a host.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(a).late++
}

// SLAMissed implements host.Observer.
func (m *Meter) SLAMissed(a host.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(a).missed++
}

// TaskRan implements host.Observer.
func (m *Meter) TaskRan(site int64, name string, result host.RunResult, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := within(m.operators, m.limit, operator{site, name}, operator{site, Other}, func() *runs {
		return &runs{ended: map[host.RunResult]int64{}, seconds: newHistogram(runBounds())}
	})
	o.ended[result]++
	o.seconds.observe(took.Seconds())
}

// LeaseLost implements host.Observer.
func (m *Meter) LeaseLost() { m.add(&m.leases) }

// NoticeLost implements host.Observer.
func (m *Meter) NoticeLost(host.Attempt) { m.add(&m.notices) }

// ServerLost counts a server that ended without being stopped, if this process noticed it.
func (m *Meter) ServerLost() { m.add(&m.servers) }

// Panicked counts a request that panicked.
func (m *Meter) Panicked() { m.add(&m.panics) }

func (m *Meter) add(n *int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*n++
}

// Answered counts a request to an endpoint and the time that it took.
func (m *Meter) Answered(endpoint string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.endpoints[endpoint]
	if h == nil {
		h = newHistogram(requestBounds())
		m.endpoints[endpoint] = h
	}
	h.observe(took.Seconds())
}

// OfWorkflow lists the labels of workflow metrics.
func OfWorkflow() []string { return []string{"site", "project", "workflow"} }

func attemptsEnded() Family {
	return Family{"attempts_ended_total", Counter, "attempts that ended; result is success, error or killed", append(OfWorkflow(), "result")}
}
func attemptDuration() Family {
	return Family{"attempt_duration_seconds", Histogram, "time from the start of an attempt to its end", OfWorkflow()}
}
func lastSuccess() Family {
	return Family{"attempt_last_success_timestamp_seconds", Gauge, "when an attempt last succeeded", OfWorkflow()}
}
func slaMissed() Family {
	return Family{"attempts_sla_missed_total", Counter, "attempts that missed their `sla:`", OfWorkflow()}
}
func startedLate() Family {
	return Family{"attempts_started_late_total", Counter, "attempts that a schedule started more than a minute late", OfWorkflow()}
}
func taskRuns() Family {
	return Family{"task_runs_total", Counter, "runs of tasks that ended; result is success, error or again (a poll or a wait that is continued later)", []string{"site", "operator", "result"}}
}
func taskRunDuration() Family {
	return Family{"task_run_duration_seconds", Histogram, "time that a run of a task took", []string{"site", "operator"}}
}
func requestDuration() Family {
	return Family{"api_request_duration_seconds", Histogram, "time that a request took; endpoint is an operationId of the [API](openapi.yaml)", []string{"endpoint"}}
}
func leasesLost() Family {
	return Family{"leases_lost_total", Counter, "tasks that another server took over because this one did not extend their lease in time", nil}
}
func noticesLost() Family {
	return Family{"notices_lost_total", Counter, "notifications that were given up", nil}
}
func serversLost() Family {
	return Family{"servers_lost_total", Counter, "servers that ended or lost their connection to the database without being stopped; one of the others counts each", nil}
}
func panics() Family {
	return Family{"api_panics_total", Counter, "requests that panicked", nil}
}

// BySite lists the metrics that have a site label. A caller who belongs to a site sees that site's metrics.
func BySite() []Family {
	return []Family{attemptsEnded(), attemptDuration(), lastSuccess(), slaMissed(), startedLate(), taskRuns(), taskRunDuration()}
}

// Process lists the other metrics that a Meter counts.
func Process() []Family {
	return []Family{leasesLost(), noticesLost(), serversLost(), panics(), requestDuration()}
}

// WriteSites writes the metrics of BySite for one site, or for all with host.AnySite.
func (m *Meter) WriteSites(p *Page, site int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	workflows := chosen(m.workflows, func(w workflow) bool { return site == host.AnySite || w.site == site }, func(a, b workflow) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.project, b.project), cmp.Compare(a.name, b.name))
	})
	each := func(do func(a *attempts, labels []string)) {
		for _, w := range workflows {
			do(m.workflows[w], []string{strconv.FormatInt(w.site, 10), w.project, w.name})
		}
	}
	each(func(a *attempts, labels []string) {
		for _, result := range slices.Sorted(maps.Keys(a.ended)) {
			p.Add(attemptsEnded(), a.ended[result], append(labels, result)...)
		}
	})
	each(func(a *attempts, labels []string) { p.addHistogram(attemptDuration(), a.seconds, labels...) })
	each(func(a *attempts, labels []string) {
		if !a.succeeded.IsZero() {
			p.Add(lastSuccess(), a.succeeded.Unix(), labels...)
		}
	})
	each(func(a *attempts, labels []string) { p.Add(slaMissed(), a.missed, labels...) })
	each(func(a *attempts, labels []string) { p.Add(startedLate(), a.late, labels...) })

	operators := chosen(m.operators, func(o operator) bool { return site == host.AnySite || o.site == site }, func(a, b operator) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.name, b.name))
	})
	for _, o := range operators {
		for _, result := range slices.Sorted(maps.Keys(m.operators[o].ended)) {
			p.Add(taskRuns(), m.operators[o].ended[result], strconv.FormatInt(o.site, 10), o.name, string(result))
		}
	}
	for _, o := range operators {
		p.addHistogram(taskRunDuration(), m.operators[o].seconds, strconv.FormatInt(o.site, 10), o.name)
	}
}

// WriteProcess writes the metrics of Process.
func (m *Meter) WriteProcess(p *Page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.Add(leasesLost(), m.leases)
	p.Add(noticesLost(), m.notices)
	p.Add(serversLost(), m.servers)
	p.Add(panics(), m.panics)
	for _, name := range slices.Sorted(maps.Keys(m.endpoints)) {
		p.addHistogram(requestDuration(), m.endpoints[name], name)
	}
}

// chosen lists the keys that fit, in order.
func chosen[K comparable, V any](all map[K]V, fits func(K) bool, order func(a, b K) int) []K {
	list := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(k K) bool { return !fits(k) })
	slices.SortFunc(list, order)
	return list
}
