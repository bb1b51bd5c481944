package taskview

import (
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/term"
	"zerodag/operators"
)

// Tree shows all tasks as a live tree, with their output above it.
type Tree struct {
	screen *term.Picture
	took   func(time.Duration) string // formats with the precision of the known times
	ink    term.Palette
	output *Output // nil if task output is not available

	mu     sync.Mutex
	states []any // a value for each attempt, in the order in which they started
	rows   map[any][]Row
	frame  int
	stop   chan struct{}
	done   chan struct{}
}

const redrawEvery = 80 * time.Millisecond

// NewTree returns a Tree that draws on a screen until it is closed. output, which writes to the screen, may be nil if
// task output is not available. took formats durations.
func NewTree(screen *term.Picture, output *Output, took func(time.Duration) string) *Tree {
	v := &Tree{screen: screen, took: took, ink: term.NewPalette(), output: output, rows: map[any][]Row{},
		stop: make(chan struct{}), done: make(chan struct{})}
	go v.animate()
	return v
}

func (v *Tree) animate() {
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

// Changed copies the changes that steps made to an attempt's state, which may be read only during the call.
func (v *Tree) Changed(s *engine.State, changes []engine.Change) {
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
		rows = append(rows, NewRow(s.Task(id)))
	}
	v.rows[s] = rows
	v.output.expect(rows[known:])
}

// Show replaces the rows of an attempt, which is identified by a value of any comparable type.
func (v *Tree) Show(attempt any, rows []Row) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.rows[attempt]; !known {
		v.states = append(v.states, attempt)
	}
	v.rows[attempt] = rows
}

// Log returns the log of one task run, whose lines are shown above the tree.
func (v *Tree) Log(id operators.Identity) operators.Log { return v.output.Log(id) }

// Close draws the tree for the last time and leaves it on the screen.
func (v *Tree) Close() {
	close(v.stop)
	<-v.done
	v.mu.Lock()
	defer v.mu.Unlock()
	v.redraw(time.Now(), true)
	v.screen.Close()
}

// redraw replaces the tree on the screen: printed lines move above it permanently.
func (v *Tree) redraw(now time.Time, last bool) {
	v.screen.Draw(func(columns, lines int) []string { return v.picture(now, columns, v.room(lines, last), last) })
}

// room returns how many lines the tree may use. The last picture leaves room for the text below it and the next prompt:
// half the screen if a task failed.
func (v *Tree) room(lines int, last bool) int {
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

// broken reports whether a task has not succeeded.
func (v *Tree) broken() bool {
	for _, rows := range v.rows {
		for i := range rows {
			if rows[i].State != engine.Success && !rows[i].isNotice() {
				return true
			}
		}
	}
	return false
}

// picture draws all attempts in at most the given number of lines. The last attempt gets most of the room, because the
// earlier ones are required by it or require it.
func (v *Tree) picture(now time.Time, columns, lines int, last bool) []string {
	p := painter{ink: v.ink, frame: v.frame, now: now, columns: columns, last: v.lastLine, took: v.took}
	var all []string
	for i, s := range v.states {
		share := max(3, (lines-len(all))/(len(v.states)-i))
		all = append(all, p.picture(v.rows[s], share, last)...)
	}
	return all[max(0, len(all)-lines):]
}

func (v *Tree) lastLine(task string) string {
	if v.output == nil {
		return ""
	}
	lines := v.output.LastOf(task)
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
