package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Grid holds the outcomes of the tasks below one parent in the last sessions of a workflow.
type Grid struct {
	Columns []host.Session // the newest id first
	Rows    []Row          // in the order of the newest attempt, then of earlier ones
	More    bool           // there are more rows than requested
	Next    int64          // sessions of the next page have smaller ids; 0 if there are none
}

// Row is one task in all columns.
type Row struct {
	Name  string // the part that it adds to its parent's name
	Inner bool   // there are tasks below it
	Cells []Cell // one for each column
}

// Cell is a task in the last attempt of a session.
type Cell struct {
	State string        // "" if that attempt has no task of this name
	Took  time.Duration // from the first run to the end; 0 unless it has ended
	Tries int           // how many times it was created: a group that is retried creates its tasks again
}

// GridQuery selects a part of a grid.
type GridQuery struct {
	Site     int64
	Project  int64
	Workflow string
	Parent   string // full name of a task; "" means the root
	Before   int64  // only sessions with smaller ids; 0 means all
	Columns  int
	Rows     int
}

// Grid creates a grid from the last attempts of some sessions.
func (c *Console) Grid(ctx context.Context, q GridQuery) (Grid, error) {
	list, err := c.Catalogue.Sessions(ctx, host.SessionQuery{Site: q.Site, Project: q.Project, Workflow: q.Workflow, Before: q.Before, Count: q.Columns})
	if err != nil {
		return Grid{}, err
	}
	g := Grid{Columns: list}
	if len(list) == q.Columns {
		g.Next = list[len(list)-1].ID
	}
	at := map[string]int{}
	for i, s := range list {
		// A session contains little data about its last attempt: only the row of the attempt shows whether it waits.
		a, err := c.Catalogue.Attempt(ctx, q.Site, s.Last.ID)
		if err != nil {
			return Grid{}, err
		}
		if err := c.Catalogue.View(ctx, a, func(state *engine.State) { g.lay(i, q, state, at) }); err != nil {
			return Grid{}, err
		}
	}
	for i := range g.Rows {
		g.Rows[i].Cells = slices.Grow(g.Rows[i].Cells, len(list)-len(g.Rows[i].Cells))[:len(list)]
	}
	return g, nil
}

// lay adds a column; at holds the existing rows.
func (g *Grid) lay(column int, q GridQuery, s *engine.State, at map[string]int) {
	if s == nil {
		return
	}
	parents, first := map[engine.TaskID]string{}, begins(s)
	for _, t := range s.Tasks() {
		if t.Parent == 0 && q.Parent == "" || t.Name == q.Parent {
			parents[t.ID] = t.Name
		}
	}
	for _, t := range s.Tasks() {
		parent, below := parents[t.Parent]
		if !below {
			continue
		}
		name := strings.TrimPrefix(t.Name, parent)
		row, known := at[name]
		if !known {
			if row = len(g.Rows); row == q.Rows {
				g.More = true
				continue
			}
			at[name] = row
			g.Rows = append(g.Rows, Row{Name: name})
		}
		g.Rows[row].set(column, t, first)
	}
}

// begins returns, for all groups and for tasks that ran, when their first run, or the first run below them, began. A
// task is created before the tasks below it.
func begins(s *engine.State) map[engine.TaskID]begin {
	first := map[engine.TaskID]begin{}
	for _, t := range slices.Backward(s.Tasks()) {
		own := first[t.ID]
		own.earlier(t.StartedAt)
		first[t.ID] = own
		above := first[t.Parent]
		above.inner = true
		above.earlier(own.at)
		first[t.Parent] = above
	}
	return first
}

// begin holds when a task began, and whether there are tasks below it.
type begin struct {
	at    time.Time
	inner bool
}

func (b *begin) earlier(t time.Time) {
	if b.at.IsZero() || !t.IsZero() && t.Before(b.at) {
		b.at = t
	}
}

// set fills a cell. If several tasks have the same name, the last one counts: ids ascend.
func (r *Row) set(column int, t *engine.Task, first map[engine.TaskID]begin) {
	for len(r.Cells) <= column {
		r.Cells = append(r.Cells, Cell{})
	}
	cell := &r.Cells[column]
	cell.State, cell.Took = t.State.String(), 0
	cell.Tries++
	began := first[t.ID]
	if t.State.Done() && !began.at.IsZero() {
		cell.Took = t.UpdatedAt.Sub(began.at)
	}
	r.Inner = r.Inner || began.inner
}
