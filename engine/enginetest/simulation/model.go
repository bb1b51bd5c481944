package simulation

import (
	"fmt"

	"zerodag/engine"
	"zerodag/engine/dig"
	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// Model is an attempt that follows engine.md 2.4 to 2.10 word for word: it repeatedly visits all rows of a table until
// nothing changes. Intended differences from the engine (a kill acts at once) are noted in the model.
type Model struct {
	Limit int
	rows  []*row // by id - 1
	def   *engine.Definition
}

type row struct {
	id, parent       int // parent 0: the root
	name             string
	grouping         bool
	config, export   *param.Map
	upstreams        []int
	state            engine.TaskState
	cancelRequested  bool
	delayedError     bool
	delayedGroup     bool
	initial          bool
	due              bool // retry_at has passed
	losses           int
	stateParams      *param.Map
	exported, stored *param.Map
	reset            [][]string
	err              *param.Map
}

// NewModel starts an attempt: 2.3, 6.
func NewModel(def *engine.Definition, limit int) *Model {
	m := &Model{Limit: limit, def: def}
	m.insert(0, def.Nodes, nil, true)
	m.rows[0].state = engine.Planned
	m.loop()
	return m
}

func (m *Model) insert(parent int, nodes []dig.Node, after []int, initial bool) {
	first := len(m.rows) + 1
	for i, n := range nodes {
		r := &row{id: first + i, parent: parent, name: n.Name, grouping: n.Group, config: n.Config, export: n.Export, initial: initial}
		if n.Parent >= 0 {
			r.parent = first + n.Parent
		}
		for _, u := range n.Upstreams {
			r.upstreams = append(r.upstreams, first+u)
		}
		if i == 0 {
			r.upstreams = append(r.upstreams, after...)
		}
		m.rows = append(m.rows, r)
	}
}

func (m *Model) row(id int) *row { return m.rows[id-1] }

// loop runs the executor loop of 2.5 until nothing changes.
func (m *Model) loop() {
	for changed := true; changed; {
		changed = m.unblock()
		changed = m.enqueue() || changed
		changed = m.finish() || changed
	}
}

// unblock is 1: blocked -> ready.
func (m *Model) unblock() (changed bool) {
	for _, r := range m.rows {
		if r.state != engine.Blocked || r.parent == 0 || !m.mayRun(r) {
			continue
		}
		changed = true
		switch {
		case r.grouping:
			r.state = engine.Planned
		case r.cancelRequested:
			r.state = engine.Canceled
		default:
			r.state = engine.Ready
		}
	}
	return changed
}

// enqueue is 2, retry waiting, and 3, enqueue.
func (m *Model) enqueue() (changed bool) {
	for _, r := range m.rows {
		if (r.state == engine.RetryWaiting || r.state == engine.GroupRetryWaiting) && r.due {
			r.state, r.due, changed = engine.Ready, false, true
		}
		if r.state != engine.Ready {
			continue
		}
		changed = true
		if r.grouping {
			m.recreate(r)
			r.state = engine.Planned
		} else {
			r.state = engine.Running
		}
	}
	return changed
}

// finish is 4: planned -> done.
func (m *Model) finish() (changed bool) {
	for _, r := range m.rows {
		if r.state == engine.Planned && !m.anyProgressible(r) {
			m.childrenFinished(r)
			changed = true
		}
	}
	return changed
}

func (m *Model) mayRun(r *row) bool {
	p := m.row(r.parent).state
	return (p == engine.Planned || p == engine.Success) && m.upstreamsDone(r)
}

func (m *Model) upstreamsDone(r *row) bool {
	for _, u := range r.upstreams {
		if m.row(u).state != engine.Success {
			return false
		}
	}
	return true
}

func (m *Model) anyProgressible(p *row) bool {
	for _, r := range m.rows {
		if r.parent == p.id && (r.state >= engine.Ready && r.state <= engine.Planned || r.state == engine.Blocked && m.upstreamsDone(r)) {
			return true
		}
	}
	return false
}

func (m *Model) anyErrorChild(p *row) bool {
	newest := map[string]*row{}
	for _, r := range m.rows {
		if r.parent == p.id {
			newest[r.name] = r
		}
	}
	for _, r := range newest {
		if r.state == engine.Failed || r.state == engine.GroupError {
			return true
		}
	}
	return false
}

// childrenFinished is the list of 2.6.
func (m *Model) childrenFinished(t *row) {
	switch {
	case t.cancelRequested:
		t.state = engine.Canceled
	case t.delayedError:
		t.state = engine.Failed
	case t.delayedGroup:
		t.state = engine.GroupError
	case !m.anyErrorChild(t):
		t.state = engine.Success
	default:
		m.childFailed(t)
	}
}

func (m *Model) childFailed(t *row) {
	if limit, interval := retryOf(t); count(t) < limit {
		t.state, t.due = engine.GroupRetryWaiting, interval == 0
		t.stateParams = t.stateParams.Clone()
		t.stateParams.Set("retry_count", count(t)+1)
		return
	}
	if t.parent == 0 {
		m.generate(t, "^failure-alert", param.New("_type", "notify", "_command", "Workflow session attempt failed"), nil, false, false)
	}
	handled := m.addError(t, m.collected(t))
	if t.parent == 0 || handled {
		t.delayedGroup = true // stays planned
		return
	}
	t.state = engine.GroupError
}

// collected returns what ^error of a group gets: stores and errors of all descendants.
func (m *Model) collected(t *row) func(*param.Map) *param.Map {
	return func(export *param.Map) *param.Map {
		failure := param.New()
		for _, d := range m.descendants(t) {
			export = param.Merge(param.Reset(export, d.reset...), d.stored)
			failure = param.Merge(failure, d.err)
		}
		export = export.Clone()
		export.Set("error", failure)
		return export
	}
}

func (m *Model) descendants(t *row) (list []*row) {
	for _, r := range m.rows {
		if r.parent == t.id {
			list = append(append(list, r), m.descendants(r)...)
		}
	}
	return list
}

func (m *Model) addError(t *row, change func(*param.Map) *param.Map) bool {
	handler := param.Merge(t.export, t.config).Map("_error")
	if handler.Len() == 0 {
		return false
	}
	handler = handler.Clone()
	handler.Set("_export", change(param.Merge(param.New(), handler.Map("_export"))))
	_, err := m.generate(t, "^error", handler, nil, false, true)
	return err == nil
}

func retryOf(t *row) (limit, interval int64) {
	v, _ := param.Merge(t.export, t.config).Get("_retry")
	switch x := v.(type) {
	case int64:
		return x, 0
	case *param.Map:
		l, _ := x.Get("limit")
		i, _ := x.Get("interval")
		return l.(int64), i.(int64)
	}
	return 0, 0
}

func count(t *row) int64 {
	v, _ := t.stateParams.Get("retry_count")
	n, _ := v.(int64)
	return n
}

// recreate copies the initial tasks of a group: 2.7.
func (m *Model) recreate(g *row) {
	ids := map[int]int{g.id: g.id}
	for _, old := range m.descendants(g) {
		if !old.initial || contains(old.name[len(g.name):], "^sub") {
			continue
		}
		c := &row{id: len(m.rows) + 1, parent: ids[old.parent], name: old.name, grouping: old.grouping, config: old.config, export: old.export}
		for _, u := range old.upstreams {
			c.upstreams = append(c.upstreams, ids[u])
		}
		ids[old.id] = c.id
		m.rows = append(m.rows, c)
	}
	g.exported, g.stored, g.reset = nil, nil, nil
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

// generate compiles and inserts tasks below t and returns the id of the first.
func (m *Model) generate(t *row, name string, config *param.Map, after []int, initial, limited bool) (int, error) {
	nodes, err := dig.Compile(t.name, name, keys.Language{}, config)
	if err != nil {
		return 0, err
	}
	if limited && len(m.rows)+len(nodes) > m.Limit {
		return 0, fmt.Errorf("Too many tasks. Limit: %d, Current: %d, Adding: %d", m.Limit, len(m.rows), len(nodes))
	}
	id := len(m.rows) + 1
	m.insert(t.id, nodes, after, initial)
	return id, nil
}
