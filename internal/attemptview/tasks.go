package attemptview

import (
	"slices"

	"zerodag/engine"
	"zerodag/internal/client"
	"zerodag/internal/taskview"
	"zerodag/internal/term"
)

// liveTasks holds an attempt's tasks as of one entry in its history.
type liveTasks struct {
	seq  int64 // 0: there is no history to follow
	rows []taskview.Row
}

// add adds tasks, each after its parent. They are numbered from 1, so each one's place is known.
func (l *liveTasks) add(c *client.Columns) {
	for i := range c.Len() {
		if c.ID[i] != int64(len(l.rows))+1 || c.Parent[i] < 0 || c.Parent[i] >= c.ID[i] {
			continue // the task is already in the list
		}
		row := taskview.Row{Name: term.OneLine(c.Name[i]), State: stateNamed(c.State[i]), Started: client.Moment(c.Started[i]), Parent: engine.TaskID(c.Parent[i])}
		if row.Parent > 0 {
			row.Name = l.rows[row.Parent-1].Name + row.Name
		}
		if row.State.Done() {
			row.Ended = client.Moment(c.Changed[i])
		}
		l.rows = append(l.rows, row)
	}
}

// apply applies a change.
func (l *liveTasks) apply(ch client.Change) {
	if ch.Made != nil {
		l.add(ch.Made)
	}
	for i, id := range ch.Task {
		if id < 1 || id > int64(len(l.rows)) || i >= len(ch.State) {
			continue
		}
		row := &l.rows[id-1]
		row.State = stateNamed(ch.State[i])
		if row.State == engine.Running && row.Started.IsZero() {
			row.Started = client.Moment(ch.At)
		}
		if row.State.Done() {
			row.Ended = client.Moment(ch.At)
		}
	}
}

// tree returns the tasks in the form that the tree draws.
func (l *liveTasks) tree() []taskview.Row {
	rows := slices.Clone(l.rows)
	begun := make([]bool, len(rows))
	for i := range rows {
		begun[i] = !rows[i].Started.IsZero()
	}
	beginGroups(rows, begun)
	return rows
}

// treeRows converts a server's tasks to the form that the tree draws.
func treeRows(tasks []client.Task) []taskview.Row {
	rows, places := make([]taskview.Row, len(tasks)), make(map[client.ID]engine.TaskID, len(tasks))
	for i, t := range tasks {
		row := taskview.Row{Name: term.OneLine(t.FullName), State: stateNamed(t.State)}
		if t.ParentID != nil {
			row.Parent = places[*t.ParentID]
		}
		places[t.ID] = engine.TaskID(i + 1)
		if t.StartedAt != nil {
			row.Started = *t.StartedAt
		}
		if row.State.Done() {
			row.Ended = t.UpdatedAt
		}
		rows[i] = row
	}
	begun := make([]bool, len(rows))
	for i, t := range tasks {
		begun[i] = t.StartedAt != nil
	}
	beginGroups(rows, begun)
	return rows
}

// beginGroups marks groups as begun when the first task in them begins, because the server does not record when groups
// start.
func beginGroups(rows []taskview.Row, begun []bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		if p := r.Parent; p > 0 && !r.Started.IsZero() && !begun[p-1] {
			if first := &rows[p-1].Started; first.IsZero() || r.Started.Before(*first) {
				*first = r.Started
			}
		}
	}
}

// stateNamed returns the state that a server calls by the given name; an unknown name counts as not begun.
func stateNamed(name string) engine.TaskState {
	for s := engine.Blocked; s <= engine.Canceled; s++ {
		if s.String() == name {
			return s
		}
	}
	return engine.Blocked
}
