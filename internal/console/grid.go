package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Grid is the outcome of the tasks below one parent in the last sessions of a workflow.
type Grid struct {
	Columns []host.Session // the newest id first
	Rows    []Row          // in the order of the newest attempt, then of those before
	More    bool           // there are more rows than asked for
	Next    int64          // ids of sessions of the next page are below this; 0 for none
}

// Row is one task through all columns.
type Row struct {
	Name  string // what it adds to the name of the parent
	Inner bool   // there are tasks below it
	Cells []Cell // one for each column
}

// Cell is a task in the last attempt of a session.
type Cell struct {
	State string        // "" where that attempt has none of this name
	Took  time.Duration // from the first run to the end; 0 unless it is over
	Tries int           // how often it was made: a group that is tried again makes its tasks anew
}

// GridQuery selects a part of a grid.
type GridQuery struct {
	Site     int64
	Project  int64
	Workflow string
	Parent   string // full name of a task; "" is the root
	Before   int64  // ids of sessions below; 0 is all
	Columns  int
	Rows     int
}

// Grid reads the last attempts of some sessions.
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
		// A session has few data of its last attempt: the row of the attempt shows whether it waits.
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

// lay adds a column; at are the rows that there are.
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

// begins returns when the first run of a task began, or that of any below it, for all groups, and for tasks that ran. A
// task is made before those below it.
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

// begin is when something began, and whether there are tasks below it.
type begin struct {
	at    time.Time
	inner bool
}

func (b *begin) earlier(t time.Time) {
	if b.at.IsZero() || !t.IsZero() && t.Before(b.at) {
		b.at = t
	}
}

// set fills a cell. Of several tasks of one name the last one counts: ids ascend.
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
