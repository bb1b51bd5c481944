package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/operators"
)

// treeView shows all tasks as a tree that moves, with what commands print above it.
type treeView struct {
	out  io.Writer
	size func() (columns, lines int)
	ink  palette

	mu     sync.Mutex
	states []*engine.State // in the order of their start
	rows   map[*engine.State][]treeRow
	drawn  int // lines of the tree on the screen
	above  strings.Builder
	frame  int
	stop   chan struct{}
	done   chan struct{}
}

// treeRow is one task as it is drawn.
type treeRow struct {
	name           string // last word of the full name
	depth          int
	state          engine.TaskState
	group          bool
	started, ended time.Time
	parent         engine.TaskID
}

// palette is the escape sequences of colours; all empty under NO_COLOR.
type palette struct{ green, red, yellow, cyan, dim, reset string }

func newPalette() palette {
	if os.Getenv("NO_COLOR") != "" {
		return palette{}
	}
	return palette{"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[2m", "\x1b[0m"}
}

const redrawEvery = 80 * time.Millisecond

func newTreeView(out io.Writer, size func() (int, int)) *treeView {
	v := &treeView{out: out, size: size, ink: newPalette(), rows: map[*engine.State][]treeRow{},
		stop: make(chan struct{}), done: make(chan struct{})}
	go v.animate()
	return v
}

func (v *treeView) animate() {
	defer close(v.done)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.stop:
			return
		case now := <-tick.C:
			v.mu.Lock()
			v.frame++
			v.redraw(now, false)
			v.mu.Unlock()
		}
	}
}

// changed copies what the steps changed; the state may be read only now.
func (v *treeView) changed(s *engine.State, changes []engine.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rows[s] == nil {
		v.states = append(v.states, s)
	}
	rows := v.rows[s]
	for _, c := range changes {
		if t, ok := c.(engine.TaskChanged); ok && int(t.Task) <= len(rows) {
			rows[t.Task-1].follow(s.Task(t.Task))
		}
	}
	for id := engine.TaskID(len(rows) + 1); s.Task(id) != nil; id++ {
		rows = append(rows, newTreeRow(rows, s.Task(id)))
	}
	v.rows[s] = rows
}

func newTreeRow(rows []treeRow, t *engine.Task) treeRow {
	r := treeRow{name: t.Name, group: t.Group, parent: t.Parent}
	if t.Parent > 0 && int(t.Parent) <= len(rows) {
		r.depth = rows[t.Parent-1].depth + 1
	}
	r.follow(t)
	return r
}

func (r *treeRow) follow(t *engine.Task) {
	if r.state == engine.Blocked && t.State != engine.Blocked {
		r.started = t.UpdatedAt
	}
	r.state = t.State
	if t.State.Done() {
		r.ended = t.UpdatedAt
	}
}

// log shows what commands print, and of the engine's own lines only warnings and errors.
func (v *treeView) log(id operators.Identity) operators.Log { return &treeLog{v, id} }

type treeLog struct {
	view *treeView
	id   operators.Identity
}

func (l *treeLog) Write(p []byte) (int, error) {
	l.view.print(string(p))
	return len(p), nil
}

func (l *treeLog) Echo(message string) { l.view.print(message + "\n") }

func (l *treeLog) Line(level operators.Level, _, message string) {
	if level != operators.Error && level != operators.Warn {
		return
	}
	ink := l.view.ink
	colour := ink.yellow
	if level == operators.Error {
		colour = ink.red
	}
	l.view.print(fmt.Sprintf("%s%s: %s%s\n", colour, l.id.TaskName, message, ink.reset))
}

func (v *treeView) print(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.above.WriteString(text)
}

// close draws the last picture and leaves it.
func (v *treeView) close() {
	close(v.stop)
	<-v.done
	v.mu.Lock()
	defer v.mu.Unlock()
	v.redraw(time.Now(), true)
}

// redraw replaces the tree on the screen: what was printed goes above it for good.
func (v *treeView) redraw(now time.Time, last bool) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", v.drawn)
	}
	text := v.above.String()
	v.above.Reset()
	if !last {
		// A line that is not ended yet stays until it is, or the tree would be drawn into it.
		end := strings.LastIndexByte(text, '\n') + 1
		v.above.WriteString(text[end:])
		text = text[:end]
	} else if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	printed, open := calm(text)
	b.WriteString(printed + open)
	columns, lines := v.size()
	picture := v.picture(now, columns, max(3, lines-2), last)
	for _, l := range picture {
		b.WriteString(l + "\n")
	}
	v.drawn = len(picture)
	io.WriteString(v.out, b.String())
}

// spinner are the pictures of a task that runs, one after the other.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// picture draws all attempts in at most so many lines: what is finished folds first.
func (v *treeView) picture(now time.Time, columns, lines int, last bool) []string {
	var all []string
	for _, s := range v.states {
		rows := v.rows[s]
		fold := len(rows) > lines
		for _, i := range ordered(rows) {
			if r := rows[i]; !fold || r.worthALine(last) {
				all = append(all, v.draw(r, now, columns))
			}
		}
		if fold {
			all = append(all, v.summary(rows))
		}
	}
	if len(all) > lines {
		hidden := len(all) - lines + 1
		all = append(all[:lines-1], fmt.Sprintf("%s  ... %d more lines%s", v.ink.dim, hidden, v.ink.reset))
	}
	return all
}

// ordered lists rows as a tree is read: each before its children, siblings in order.
func ordered(rows []treeRow) []int {
	children := make([][]int, len(rows)+1)
	for i, r := range rows {
		children[r.parent] = append(children[r.parent], i)
	}
	var list []int
	var walk func(parent int)
	walk = func(parent int) {
		for _, i := range children[parent] {
			list = append(list, i)
			walk(i + 1)
		}
	}
	walk(0)
	return list
}

// worthALine says what is still shown of a tree that does not fit.
func (r treeRow) worthALine(last bool) bool {
	if last {
		return r.depth <= 1 || r.state.Error()
	}
	return r.state.Error() || r.state == engine.Running || r.state == engine.RetryWaiting || r.state == engine.GroupRetryWaiting || r.depth <= 1
}

func (v *treeView) summary(rows []treeRow) string {
	done, failed, running := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.state.Error():
			failed++
		case r.state.Done():
			done++
		case r.state == engine.Running:
			running++
		}
	}
	return fmt.Sprintf("%s  %d tasks: %d done, %d running, %d failed%s", v.ink.dim, len(rows), done, running, failed, v.ink.reset)
}

func (v *treeView) draw(r treeRow, now time.Time, columns int) string {
	icon, colour := v.icon(r)
	took := ""
	if !r.started.IsZero() {
		end := r.ended
		if end.IsZero() {
			end = now
		}
		took = shortDuration(end.Sub(r.started))
	}
	if r.state == engine.RetryWaiting || r.state == engine.GroupRetryWaiting {
		took += " (waits)"
	}
	name := lastWord(r.name)
	room := columns - 2*r.depth - 4 - len(took)
	if runes := []rune(name); room > 1 && len(runes) > room {
		name = string(runes[:room-1]) + "…"
	}
	return fmt.Sprintf("%s%s%s %s%s %s%s%s", strings.Repeat("  ", r.depth), colour, icon, name, v.ink.reset, v.ink.dim, took, v.ink.reset)
}

func (v *treeView) icon(r treeRow) (icon, colour string) {
	switch {
	case r.state == engine.Success:
		return "✔", v.ink.green
	case r.state.Error():
		return "✘", v.ink.red
	case r.state == engine.Canceled:
		return "⊘", v.ink.yellow
	case r.state == engine.Blocked:
		return "·", v.ink.dim
	case r.state == engine.RetryWaiting, r.state == engine.GroupRetryWaiting:
		return "↻", v.ink.yellow
	}
	pictures := []rune(spinner)
	return string(pictures[v.frame%len(pictures)]), v.ink.cyan
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
