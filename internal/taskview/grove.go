package taskview

import (
	"slices"
	"sort"

	"zerodag/engine"
)

// Grove holds the tasks of an attempt as a tree. Every parent precedes its children.
type Grove struct {
	rows     []Row
	over     bool    // tasks that have not begun never will
	children [][]int // by position of the parent + 1; the first list contains the root
	below    []Tally // the tally of each row: of its contents, or of itself if it has none
	broken   []bool  // a task in it has failed
}

// NewGrove creates a tree from rows. over means that tasks that have not begun never will.
func NewGrove(rows []Row, over bool) *Grove {
	g := &Grove{rows: rows, over: over, children: make([][]int, len(rows)+1), below: make([]Tally, len(rows)), broken: make([]bool, len(rows))}
	parents := make([]engine.TaskID, len(rows))
	for i, r := range rows {
		parents[i] = r.Parent
		if r.Parent > 0 && rows[r.Parent-1].isShell() {
			parents[i] = parents[r.Parent-1]
		}
		if !r.isNotice() && !r.isShell() {
			g.children[parents[i]] = append(g.children[parents[i]], i)
		}
	}
	for i := len(rows) - 1; i >= 0; i-- { // contents follow their group
		r := &rows[i]
		if r.isNotice() || r.isShell() {
			continue
		}
		if g.IsLeaf(i) && !r.Old {
			g.below[i].add(*r)
		}
		g.broken[i] = g.broken[i] || r.State.Error()
		if p := parents[i]; p > 0 {
			g.below[p-1].plus(g.below[i])
			g.broken[p-1] = g.broken[p-1] || g.broken[i]
		}
	}
	return g
}

// IsLeaf reports whether a row does work itself, that is, whether it is not a group.
func (g *Grove) IsLeaf(i int) bool {
	return !slices.ContainsFunc(g.children[i+1], func(child int) bool { return !g.rows[child].isHandler() })
}

// Tally counts the tasks that do work.
func (g *Grove) Tally() (c Tally) {
	for _, i := range g.children[0] {
		c.plus(g.below[i])
	}
	return c
}

// line is a line of the picture: a row, or a summary of the hidden tasks of a group.
type line struct {
	row    int
	folded bool // its contents are not shown
	rest   *Tally
	depth  int
}

// lines chooses the rows to show in at most the given number of lines. Trailing tasks that never began are folded. In a
// tree that does not fit, groups that have succeeded or not begun are folded into a line, and every other group shows
// its failed tasks first and then its running ones; the rest are counted.
func (g *Grove) lines(most int) []line {
	fits := func(each int) []line {
		if list := g.walk(nil, 0, 0, each); len(list) <= most {
			return list
		}
		return nil
	}
	if list := fits(len(g.rows)); list != nil {
		return list
	}
	tooMany := 1 + sort.Search(len(g.rows), func(n int) bool { return fits(n+1) == nil })
	return g.walk(nil, 0, 0, tooMany-1)
}

// walk adds a group's contents, showing at most each of them.
func (g *Grove) walk(list []line, group, depth, each int) []line {
	kids := g.children[group]
	if len(kids) <= each || group == 0 {
		for _, i := range kids {
			list = g.show(list, i, depth, each)
		}
		return list
	}
	shown := map[int]bool{}
	for _, wanted := range []func(i int) bool{
		func(i int) bool { return g.broken[i] },
		func(i int) bool { return g.rows[i].active() },
	} {
		for _, i := range kids {
			if len(shown) < each && !shown[i] && wanted(i) {
				shown[i] = true
				list = g.show(list, i, depth, each)
			}
		}
	}
	if each == 0 {
		return list
	}
	var rest Tally
	for _, i := range kids {
		if !shown[i] {
			rest.plus(g.below[i])
		}
	}
	return append(list, line{rest: &rest, depth: depth})
}

// show adds a row and its contents.
func (g *Grove) show(list []line, i, depth, each int) []line {
	kids := g.children[i+1]
	blocked := g.rows[i].State == engine.Blocked
	quiet := depth > 0 && (blocked && g.over || (blocked || g.rows[i].State == engine.Success) && g.below[i].Total > each)
	folded := len(kids) > 0 && (each == 0 || quiet)
	list = append(list, line{row: i, folded: folded, depth: depth})
	if folded || len(kids) == 0 {
		return list
	}
	return g.walk(list, i+1, depth+1, each)
}
