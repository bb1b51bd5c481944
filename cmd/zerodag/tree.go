package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"zerodag/engine"
	"zerodag/operators"
)

// treeView shows all tasks as a tree that moves, with what they print above it.
type treeView struct {
	out    io.Writer
	size   func() (columns, lines int)
	took   func(time.Duration) string // as exactly as times are known
	ink    palette
	above  *aboveTree
	output *runOutput // nil where what tasks print is not known

	mu     sync.Mutex
	states []any // what stands for each attempt, in the order of their start
	rows   map[any][]treeRow
	drawn  drawing
	frame  int
	stop   chan struct{}
	done   chan struct{}

	restore func() // makes the terminal as it was
}

// palette is the escape sequences of colours; all empty under NO_COLOR.
type palette struct{ green, red, yellow, cyan, dim, reset string }

func newPalette() palette {
	if os.Getenv("NO_COLOR") != "" {
		return palette{}
	}
	return palette{"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[2m", "\x1b[0m"}
}

// aboveTree collects what is to be printed above the tree, whole lines.
type aboveTree struct {
	mu   sync.Mutex
	text strings.Builder
}

func (a *aboveTree) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.Write(p)
}

func (a *aboveTree) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.text.Reset()
	return a.text.String()
}

const redrawEvery = 80 * time.Millisecond

// newTreeView draws until it is closed. above is where output writes.
func newTreeView(out io.Writer, size func() (int, int), above *aboveTree, output *runOutput, took func(time.Duration) string) *treeView {
	v := &treeView{out: out, size: size, took: took, ink: newPalette(), above: above, output: output, rows: map[any][]treeRow{},
		stop: make(chan struct{}), done: make(chan struct{}), restore: func() {}}
	if file, ok := out.(*os.File); ok {
		v.restore = keepWhatIsDrawn(file)
	}
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
	rows, known := v.rows[s], len(v.rows[s])
	for _, c := range changes {
		for _, id := range s.Touched(c) {
			if int(id) <= len(rows) {
				rows[id-1].follow(s.Task(id))
			}
		}
	}
	for id := engine.TaskID(len(rows) + 1); s.Task(id) != nil; id++ {
		rows = append(rows, newTreeRow(s.Task(id)))
	}
	v.rows[s] = rows
	v.output.expect(rows[known:])
}

// show replaces what is known of the tasks of an attempt.
func (v *treeView) show(attempt any, rows []treeRow) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.rows[attempt]; !known {
		v.states = append(v.states, attempt)
	}
	v.rows[attempt] = rows
}

// log shows what tasks print, and of the engine's own lines only warnings and errors.
func (v *treeView) log(id operators.Identity) operators.Log { return v.output.log(id) }

// close draws the last picture and leaves it.
func (v *treeView) close() {
	close(v.stop)
	<-v.done
	v.mu.Lock()
	defer v.mu.Unlock()
	v.redraw(time.Now(), true)
	v.restore()
}

// A line of the tree that is wider than the terminal is cut by it: one that went on in the next line would
// make the cursor miss the first line at the next redraw.
const (
	cutLines  = "\x1b[?7l"
	wrapLines = "\x1b[?7h"
)

// What was drawn before is erased line by line, and below the last one: a terminal that is told to erase all of
// its screen keeps a copy among the lines that have left it, of each redraw of a tree that begins at its top.
const (
	newLine    = "\x1b[K\n"
	eraseBelow = "\x1b[J"
)

// redraw replaces the tree on the screen: what was printed goes above it for good.
func (v *treeView) redraw(now time.Time, last bool) {
	columns, lines := v.size()
	var b strings.Builder
	up, beyond := v.drawn.rows(columns, lines)
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", up)
	}
	printed, open := calm(v.above.take())
	if printed += open; printed != "" {
		beyond = 0 // it lies between the tree and what went beyond the screen
	}
	b.WriteString(strings.ReplaceAll(printed, "\n", newLine))
	picture := v.picture(now, columns, v.room(lines, last), last)
	b.WriteString(cutLines)
	for _, l := range picture {
		b.WriteString(l + newLine)
	}
	b.WriteString(wrapLines + eraseBelow)
	v.drawn = drawing{lines: picture, columns: columns, beyond: beyond}
	io.WriteString(v.out, b.String())
}

// room is how many lines the tree may take. The last picture leaves room for what is said below it, and the
// next prompt; most of it where something failed.
func (v *treeView) room(lines int, last bool) int {
	switch {
	case !last:
		lines -= 2
	case v.broken():
		lines /= 2
	default:
		lines -= 4
	}
	return max(3, lines)
}

// broken says whether a task has not succeeded.
func (v *treeView) broken() bool {
	for _, rows := range v.rows {
		for i := range rows {
			if rows[i].state != engine.Success && !rows[i].isNotice() {
				return true
			}
		}
	}
	return false
}

// drawing is the tree on the screen.
type drawing struct {
	lines   []string
	columns int // of the terminal when they were drawn
	beyond  int // lines that went beyond the upper end of the screen, directly above
}

// rows are those of the screen that the drawing takes now, and beyond it, when the terminal may have got
// another size. A narrower one breaks lines that were wider; a lower one moves what is above out of sight,
// and a higher one brings it back.
func (d drawing) rows(columns, lines int) (up, beyond int) {
	if len(d.lines) == 0 {
		return 0, 0
	}
	all := d.beyond
	for _, l := range d.lines {
		all += max(1, (min(width(l), d.columns)+columns-1)/columns)
	}
	up = min(all, max(1, lines-1))
	return up, all - up
}

// width is how many characters of a line are seen.
func width(line string) int {
	n := 0
	for line != "" {
		if colour, _ := colourAt(line); colour != "" {
			line = line[len(colour):]
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		n++
	}
	return n
}

// picture draws all attempts in at most so many lines: the last one has most of the room, since those
// before it are what it requires or required it.
func (v *treeView) picture(now time.Time, columns, lines int, last bool) []string {
	p := painter{ink: v.ink, frame: v.frame, now: now, columns: columns, last: v.lastLine, took: v.took}
	var all []string
	for i, s := range v.states {
		share := max(3, (lines-len(all))/(len(v.states)-i))
		all = append(all, p.picture(v.rows[s], share, last)...)
	}
	return all[max(0, len(all)-lines):]
}

func (v *treeView) lastLine(task string) string {
	if v.output == nil {
		return ""
	}
	lines := v.output.lastOf(task)
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
