package simulation

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine"
	"zerodag/engine/param"
)

// Succeeded is taskSucceeded in 2.6.
func (m *Model) Succeeded(id int, o engine.Outcome) {
	t := m.row(id)
	if t.cancelRequested {
		t.state = engine.Canceled
		m.loop()
		return
	}
	size := len(m.rows)
	added, err := m.subtasksAndCheck(t, o)
	if err != nil {
		m.rows = m.rows[:size]
		m.Failed(id, nil)
		return
	}
	t.state = engine.Success
	if added {
		t.state = engine.Planned
	}
	t.exported, t.stored, t.reset, t.err = o.Exports, o.Stores, o.ResetStore, nil
	m.loop()
}

func (m *Model) subtasksAndCheck(t *row, o engine.Outcome) (added bool, err error) {
	var after []int
	if o.Subtasks.Len() > 0 {
		id, err := m.generate(t, "^sub", o.Subtasks, nil, true, true)
		if err != nil {
			return false, err
		}
		after, added = []int{id}, true
	}
	if check := param.Merge(t.export, t.config).Map("_check"); check.Len() > 0 {
		if _, err = m.generate(t, "^check", check, after, false, true); err != nil {
			return false, err
		}
		added = true
	}
	return added, nil
}

// Failed is taskFailed in 2.6. Error messages are not modeled.
func (m *Model) Failed(id int, failure *param.Map) {
	t := m.row(id)
	switch {
	case t.cancelRequested:
		t.state = engine.Canceled
	case m.addError(t, func(export *param.Map) *param.Map {
		return param.Merge(export.Without("error"), param.New("error", failure))
	}):
		t.state, t.delayedError = engine.Planned, true
	default:
		t.state = engine.Failed
	}
	if t.state != engine.Canceled {
		t.err = failure
	}
	m.loop()
}

// Later is retryTask in 2.6. Unlike in Digdag, a kill wakes the task at once.
func (m *Model) Later(id int, now bool, state *param.Map) {
	t := m.row(id)
	t.stateParams = state
	t.state, t.due = engine.RetryWaiting, now
	if t.cancelRequested {
		t.state, t.due = engine.Running, false
	} else {
		t.losses = 0 // it reported back
	}
	m.loop()
}

// Due means that retry_at of a task has passed.
func (m *Model) Due(id int) {
	if t := m.row(id); t.state == engine.RetryWaiting || t.state == engine.GroupRetryWaiting {
		t.due = true
	}
	m.loop()
}

// Lost is an expired lease (2.12); unlike in Digdag, the third one fails the task.
func (m *Model) Lost(id int) {
	t := m.row(id)
	if t.grouping {
		return
	}
	if t.losses++; t.losses == 3 {
		m.Failed(id, nil)
	}
}

// Kill is 2.10, with waiting tasks woken and waiting groups ended at once.
func (m *Model) Kill() {
	for _, t := range m.rows {
		if t.state.Done() {
			continue
		}
		t.cancelRequested = true
		switch {
		case t.state == engine.GroupRetryWaiting && t.grouping:
			t.state = engine.Canceled
		case t.state == engine.RetryWaiting, t.state == engine.GroupRetryWaiting:
			t.state, t.due = engine.Running, false
		}
	}
	m.loop()
}

// SLADue adds the tasks of `sla:` (language.md 1.12).
func (m *Model) SLADue() {
	root := m.rows[0]
	if root.cancelRequested { // unlike in Digdag, nothing further runs
		return
	}
	if m.def.SLA.Alert {
		m.generate(root, "^sla^alert", param.New("_type", "notify", "_command", "SLA violation"), nil, false, false) // it compiles
	}
	if m.def.SLA.Fail {
		m.generate(root, "^sla^fail", param.New("_type", "fail", "_command", "SLA violation"), nil, false, false) // it compiles
	}
	m.generate(root, "^sla", m.def.SLA.Tasks, nil, false, false) // all generated workflows compile
	m.loop()
}

// rowOf finds the row of an engine task: the nth one with its name. Ids differ, since the model and the engine each
// assign their own.
func (m *Model) rowOf(s *engine.State, t *engine.Task) (int, error) {
	nth := 0
	for _, x := range s.Tasks() {
		if x.Name == t.Name && x.ID < t.ID {
			nth++
		}
	}
	for _, r := range m.rows {
		if r.name != t.Name {
			continue
		}
		if nth == 0 {
			return r.id, nil
		}
		nth--
	}
	return 0, fmt.Errorf("the model has no such %s", t.Name)
}

// Same compares all states and exports by full name.
func (m *Model) Same(s *engine.State) error {
	var ours, theirs []string
	for _, t := range s.Tasks() {
		theirs = append(theirs, fmt.Sprintf("%s %s %v cancel=%v", t.Name, exportText(t.Export), t.State, t.Cancel))
	}
	for _, r := range m.rows {
		ours = append(ours, fmt.Sprintf("%s %s %v cancel=%v", r.name, exportText(r.export), r.state, r.cancelRequested))
	}
	slices.SortStableFunc(ours, byName)
	slices.SortStableFunc(theirs, byName)
	if !slices.Equal(ours, theirs) {
		return fmt.Errorf("the model has other states\nmodel:\n%s\nengine:\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	return nil
}

// byName keeps tasks with the same name in the order of their ids: iterations must agree.
func byName(a, b string) int {
	x, _, _ := strings.Cut(a, " ")
	y, _, _ := strings.Cut(b, " ")
	return strings.Compare(x, y)
}

// exportText omits errors: their text is not modeled.
func exportText(m *param.Map) string { return param.Text(m.Without("error")) }
