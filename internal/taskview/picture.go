package taskview

import (
	"fmt"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/internal/term"
)

// spinner holds the successive symbols of a running task.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// painter draws rows.
type painter struct {
	ink     term.Palette
	frame   int
	now     time.Time
	columns int
	last    func(task string) string // the last line that a task printed
	took    func(time.Duration) string
}

// picture draws an attempt in at most the given number of lines, the last of which shows the totals unless the run has
// ended.
func (p painter) picture(rows []Row, most int, over bool) []string {
	g := NewGrove(rows, over)
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
		all = append(all, p.ink.Dim+term.ShortenEnd(fmt.Sprintf("  ... %d more lines", hidden), p.columns)+p.ink.Reset)
	}
	if !over {
		all = append(all, p.totals(g))
	}
	return all
}

// barWidth is the width of the bar next to the totals, for which narrow terminals have no room.
const (
	barWidth   = 20
	barColumns = 60
)

func (p painter) totals(g *Grove) string {
	c := g.Tally()
	bar := ""
	if p.columns >= barColumns && c.Total > 0 {
		part := func(n int) int { return n * barWidth / c.Total }
		failed := part(c.Failed)
		if c.Failed > 0 {
			failed = max(failed, 1)
		}
		done := min(part(c.Done), barWidth-failed)
		bar = p.ink.Green + strings.Repeat("━", done) + p.ink.Red + strings.Repeat("━", failed) + p.ink.Dim + strings.Repeat("─", barWidth-done-failed) + p.ink.Reset + " "
	}
	took := ""
	if len(g.rows) > 0 && !g.rows[0].Started.IsZero() {
		took = " " + p.took(max(0, p.now.Sub(g.rows[0].Started)))
	}
	used := 0
	if bar != "" {
		used = barWidth + 1
	}
	return bar + p.ink.Dim + term.ShortenEnd(c.words()+took, p.columns-used) + p.ink.Reset
}

func (p painter) line(g *Grove, l line) string {
	if l.rest != nil {
		return strings.Repeat("  ", l.depth) + p.ink.Dim + term.ShortenEnd("  "+l.rest.others(g.over), p.columns-2*l.depth) + p.ink.Reset
	}
	note := ""
	if l.folded {
		note = g.below[l.row].folded(g.over)
	}
	return p.draw(g.rows[l.row], l.depth, note)
}

// folded describes how many tasks of each kind are in a folded group.
func (c Tally) folded(over bool) string {
	switch {
	case c == Tally{Total: c.Total} && over:
		return term.Counted(c.Total, "task") + " did not run"
	case c.Done == c.Total, c == Tally{Total: c.Total}:
		return term.Counted(c.Total, "task")
	}
	return c.words()
}

func (p painter) draw(r Row, depth int, note string) string {
	icon, color := p.icon(r)
	beside := ""
	if !r.Started.IsZero() {
		end := r.Ended
		if end.IsZero() {
			end = p.now
		}
		beside = " " + p.took(max(0, end.Sub(r.Started))) // a server's clock may be ahead
	}
	if r.waits() {
		beside += " (waits)"
	}
	name := engine.OwnName(r.Name)
	room := p.columns - 2*depth - 3 - term.Width(beside)
	if with := room - 2 - term.Width(note); note != "" && with >= leastName {
		beside += "  " + note
		room = with
	}
	if room > 1 {
		name = term.ShortenEnd(name, room)
	}
	if said := p.saying(r, room-term.Width(name)-3); said != "" {
		beside += " | " + said
	}
	if beside != "" {
		beside = p.ink.Dim + beside + p.ink.Reset
	}
	return fmt.Sprintf("%s%s%s %s%s%s", strings.Repeat("  ", depth), color, icon, name, p.ink.Reset, beside)
}

// leastName is the shortest length of a name that is followed by text.
const leastName = 8

// leastSaid is the room below which a task's last line is not shown.
const leastSaid = 12

// saying returns the last line that a running task printed, if there is room for it.
func (p painter) saying(r Row, room int) string {
	if p.last == nil || r.State != engine.Running || room < leastSaid {
		return ""
	}
	text := strings.TrimSpace(p.last(r.Name))
	text = text[strings.LastIndexByte(text, '\r')+1:]
	if strings.ContainsRune(text, '\x1b') {
		return ""
	}
	return term.ShortenEnd(term.OneLine(text), room)
}

func (p painter) icon(r Row) (icon, color string) {
	switch {
	case r.Skipped:
		return "○", p.ink.Dim
	case r.Ignored:
		return "✔", p.ink.Yellow
	case r.State == engine.Success:
		return "✔", p.ink.Green
	case r.State.Error():
		return "✘", p.ink.Red
	case r.State == engine.Canceled:
		return "⊘", p.ink.Yellow
	case r.State == engine.Blocked:
		return "·", p.ink.Dim
	case r.waits():
		return "↻", p.ink.Yellow
	}
	pictures := []rune(spinner)
	return string(pictures[p.frame%len(pictures)]), p.ink.Cyan
}
