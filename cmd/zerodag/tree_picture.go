package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"zerodag/engine"
)

// treeRow is one task as it is drawn.
type treeRow struct {
	name           string // the full name
	state          engine.TaskState
	started, ended time.Time
	parent         engine.TaskID
	skipped        bool // _if was false: a success that was not run
	ignored        bool // a success although it failed
	old            bool // another run of it counts: it is of an earlier round of a group
}

func newTreeRow(t *engine.Task) treeRow {
	r := treeRow{name: t.Name, parent: t.Parent}
	r.follow(t)
	return r
}

func (r *treeRow) follow(t *engine.Task) {
	if r.state == engine.Blocked && t.State != engine.Blocked {
		r.started = t.UpdatedAt
	}
	r.state, r.skipped, r.ignored = t.State, t.Skipped != "", t.Ignored && t.State == engine.Success
	if t.State.Done() {
		r.ended = t.UpdatedAt
	}
}

func (r *treeRow) waits() bool {
	return r.state == engine.RetryWaiting || r.state == engine.GroupRetryWaiting
}

// active: it has begun and is not over.
func (r *treeRow) active() bool { return r.state != engine.Blocked && !r.state.Done() }

// isNotice: the engine has added it to tell somebody of a failure, which nobody needs to see unless it fails.
func (r *treeRow) isNotice() bool {
	return strings.HasSuffix(r.name, engine.FailureAlert) && !r.state.Error()
}

// tally counts tasks: those that do something, not those that only contain others.
type tally struct{ total, done, failed, running, waiting int }

func (c *tally) add(r treeRow) {
	c.total++
	switch {
	case r.state == engine.Success:
		c.done++
	case r.state.Error():
		c.failed++
	case r.waits():
		c.waiting++
	case r.active():
		c.running++
	}
}

func (c *tally) plus(d tally) {
	c.total += d.total
	c.done += d.done
	c.failed += d.failed
	c.running += d.running
	c.waiting += d.waiting
}

// words names what there is of each kind.
func (c tally) words() string {
	return listed([]string{fmt.Sprintf("%d of %d done", c.done, c.total)}, some{c.running, "running"}, some{c.waiting, "waiting"}, some{c.failed, "failed"})
}

// some is how many there are of a kind.
type some struct {
	n    int
	what string
}

// listed adds what there is any of.
func listed(parts []string, kinds ...some) string {
	for _, k := range kinds {
		if k.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	return strings.Join(parts, ", ")
}

// atEnd says what became of all tasks.
func (c tally) atEnd() string {
	text := fmt.Sprintf("%d of %s succeeded", c.done, counted(c.total, "task"))
	if c.failed > 0 {
		text += fmt.Sprintf(", %d failed", c.failed)
	}
	if rest := c.total - c.done - c.failed; rest > 0 {
		text += fmt.Sprintf(", %d did not finish", rest)
	}
	return text
}

// isHandler: its parent has failed, was killed or is over. That may be a task that contains nothing else.
func (r *treeRow) isHandler() bool {
	return slices.ContainsFunc([]string{"^error", "^cancel", "^finally"}, func(end string) bool { return strings.HasSuffix(r.name, end) })
}

// isShell: it is the group that the engine puts around what a loop or a script makes. What it contains is
// shown below its parent.
func (r *treeRow) isShell() bool { return strings.HasSuffix(r.name, "^sub") && !r.waits() }

// grove is the tasks of an attempt as a tree.
type grove struct {
	rows     []treeRow
	over     bool    // what has not begun never will
	children [][]int // by place of the parent + 1, the first list has the root
	below    []tally // of each row: what it contains, or itself where it contains nothing
	broken   []bool  // a task has failed in it
}

func newGrove(rows []treeRow, over bool) *grove {
	g := &grove{rows: rows, over: over, children: make([][]int, len(rows)+1), below: make([]tally, len(rows)), broken: make([]bool, len(rows))}
	parents := make([]engine.TaskID, len(rows))
	for i, r := range rows {
		parents[i] = r.parent
		if r.parent > 0 && rows[r.parent-1].isShell() {
			parents[i] = parents[r.parent-1]
		}
		if !r.isNotice() && !r.isShell() {
			g.children[parents[i]] = append(g.children[parents[i]], i)
		}
	}
	for i := len(rows) - 1; i >= 0; i-- { // what is inside comes behind
		r := &rows[i]
		if r.isNotice() || r.isShell() {
			continue
		}
		if g.isLeaf(i) && !r.old {
			g.below[i].add(*r)
		}
		g.broken[i] = g.broken[i] || r.state.Error()
		if p := parents[i]; p > 0 {
			g.below[p-1].plus(g.below[i])
			g.broken[p-1] = g.broken[p-1] || g.broken[i]
		}
	}
	return g
}

// isLeaf says of a row that it does something itself, and is no group of tasks that do.
func (g *grove) isLeaf(i int) bool {
	return !slices.ContainsFunc(g.children[i+1], func(child int) bool { return !g.rows[child].isHandler() })
}

func (g *grove) tally() (c tally) {
	for _, i := range g.children[0] {
		c.plus(g.below[i])
	}
	return c
}

// line is a line of the picture: a row, or what is said of those that are left out of a group.
type line struct {
	row    int
	folded bool // what it contains is not shown
	rest   *tally
	depth  int
}

// lines chooses what is shown in at most so many lines. What never began folds at the end. Of a tree that does not fit, groups that have
// succeeded or not begun fold to a line, and of each other group the tasks that failed are shown first, then
// those that run; the others are counted.
func (g *grove) lines(most int) []line {
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

// walk adds what is in a group, of which it shows at most so many.
func (g *grove) walk(list []line, group, depth, each int) []line {
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
	var rest tally
	for _, i := range kids {
		if !shown[i] {
			rest.plus(g.below[i])
		}
	}
	return append(list, line{rest: &rest, depth: depth})
}

// show adds a row and what it contains.
func (g *grove) show(list []line, i, depth, each int) []line {
	kids := g.children[i+1]
	blocked := g.rows[i].state == engine.Blocked
	quiet := depth > 0 && (blocked && g.over || (blocked || g.rows[i].state == engine.Success) && g.below[i].total > each)
	folded := len(kids) > 0 && (each == 0 || quiet)
	list = append(list, line{row: i, folded: folded, depth: depth})
	if folded || len(kids) == 0 {
		return list
	}
	return g.walk(list, i+1, depth+1, each)
}

// spinner are the pictures of a task that runs, one after the other.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// painter draws rows.
type painter struct {
	ink     palette
	frame   int
	now     time.Time
	columns int
	last    func(task string) string // what a task printed last
	took    func(time.Duration) string
}

// picture draws an attempt in at most so many lines, the last of which has its totals unless the run is over.
func (p painter) picture(rows []treeRow, most int, over bool) []string {
	g := newGrove(rows, over)
	if !over {
		most--
	}
	list := g.lines(most)
	hidden := 0
	if len(list) > most {
		hidden = len(list) - most + 1
		list = list[:most-1]
	}
	var all []string
	for _, l := range list {
		all = append(all, p.line(g, l))
	}
	if hidden > 0 {
		all = append(all, p.ink.dim+shortenEnd(fmt.Sprintf("  ... %d more lines", hidden), p.columns)+p.ink.reset)
	}
	if !over {
		all = append(all, p.totals(g))
	}
	return all
}

// barWidth is that of the bar beside the totals, which narrow terminals have no room for.
const (
	barWidth   = 20
	barColumns = 60
)

func (p painter) totals(g *grove) string {
	c := g.tally()
	bar := ""
	if p.columns >= barColumns && c.total > 0 {
		part := func(n int) int { return n * barWidth / c.total }
		failed := part(c.failed)
		if c.failed > 0 {
			failed = max(failed, 1)
		}
		done := min(part(c.done), barWidth-failed)
		bar = p.ink.green + strings.Repeat("━", done) + p.ink.red + strings.Repeat("━", failed) + p.ink.dim + strings.Repeat("─", barWidth-done-failed) + p.ink.reset + " "
	}
	took := ""
	if len(g.rows) > 0 && !g.rows[0].started.IsZero() {
		took = " " + p.took(max(0, p.now.Sub(g.rows[0].started)))
	}
	used := 0
	if bar != "" {
		used = barWidth + 1
	}
	return bar + p.ink.dim + shortenEnd(c.words()+took, p.columns-used) + p.ink.reset
}

func (p painter) line(g *grove, l line) string {
	if l.rest != nil {
		return strings.Repeat("  ", l.depth) + p.ink.dim + shortenEnd("  "+l.rest.others(g.over), p.columns-2*l.depth) + p.ink.reset
	}
	note := ""
	if l.folded {
		note = g.below[l.row].folded(g.over)
	}
	return p.draw(g.rows[l.row], l.depth, note)
}

// folded says what is in a group of which no task is shown.
func (c tally) folded(over bool) string {
	switch {
	case c == tally{total: c.total} && over:
		return counted(c.total, "task") + " did not run"
	case c.done == c.total, c == tally{total: c.total}:
		return counted(c.total, "task")
	}
	return c.words()
}

// others says what is left out of a group.
func (c tally) others(over bool) string {
	left := "to come"
	if over {
		left = "did not run"
	}
	return "... " + listed(nil, some{c.done, "done"}, some{c.failed, "failed"}, some{c.running, "running"}, some{c.waiting, "waiting"},
		some{c.total - c.done - c.failed - c.running - c.waiting, left})
}

func (p painter) draw(r treeRow, depth int, note string) string {
	icon, colour := p.icon(r)
	beside := ""
	if !r.started.IsZero() {
		end := r.ended
		if end.IsZero() {
			end = p.now
		}
		beside = " " + p.took(max(0, end.Sub(r.started))) // the clock of a server may be ahead
	}
	if r.waits() {
		beside += " (waits)"
	}
	name := lastWord(r.name)
	room := p.columns - 2*depth - 3 - len(beside)
	if with := room - 2 - len(note); note != "" && with >= leastName {
		beside += "  " + note
		room = with
	}
	if runes := []rune(name); room > 1 && len(runes) > room {
		name = string(runes[:room-1]) + "…"
	}
	if said := p.saying(r, room-len([]rune(name))-3); said != "" {
		beside += " | " + said
	}
	if beside != "" {
		beside = p.ink.dim + beside + p.ink.reset
	}
	return fmt.Sprintf("%s%s%s %s%s%s", strings.Repeat("  ", depth), colour, icon, name, p.ink.reset, beside)
}

// leastName is how much of a name is left where something is said beside it.
const leastName = 8

// leastSaid is the room below which it is not worth while to show what a task says.
const leastSaid = 12

// saying is what a task that runs printed last, where there is room for it.
func (p painter) saying(r treeRow, room int) string {
	if p.last == nil || r.state != engine.Running || room < leastSaid {
		return ""
	}
	text := strings.TrimSpace(p.last(r.name))
	text = text[strings.LastIndexByte(text, '\r')+1:]
	if strings.ContainsRune(text, '\x1b') {
		return ""
	}
	return shortenEnd(oneLine(text), room)
}

// shortenEnd cuts the end of a text that is longer than so many characters.
func shortenEnd(text string, most int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= most:
		return text
	case most < 1:
		return ""
	}
	return string(runes[:most-1]) + "…"
}

func (p painter) icon(r treeRow) (icon, colour string) {
	switch {
	case r.skipped:
		return "○", p.ink.dim
	case r.ignored:
		return "✔", p.ink.yellow
	case r.state == engine.Success:
		return "✔", p.ink.green
	case r.state.Error():
		return "✘", p.ink.red
	case r.state == engine.Canceled:
		return "⊘", p.ink.yellow
	case r.state == engine.Blocked:
		return "·", p.ink.dim
	case r.waits():
		return "↻", p.ink.yellow
	}
	pictures := []rune(spinner)
	return string(pictures[p.frame%len(pictures)]), p.ink.cyan
}

// lastWord is what a task adds to its parent's full name.
func lastWord(name string) string {
	if i := strings.LastIndexAny(name, "+^"); i > 0 {
		return name[i:]
	}
	return name
}

// shortDuration writes a duration for people: 12ms, 3.4s, 2m 5s, 1h 2m 3s.
func shortDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return showDuration(d)
}
