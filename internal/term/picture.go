package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Picture is a block of lines below all other output of a terminal, which is redrawn in the same place. Text written to
// a Picture appears above it at the next redraw, and stays.
type Picture struct {
	out     io.Writer
	size    func() (columns, lines int)
	restore func() // restores the terminal
	drawn   drawing

	mu    sync.Mutex
	above strings.Builder // whole lines, to be printed above
}

// NewPicture returns a Picture on a terminal whose size may change.
func NewPicture(out io.Writer, size func() (columns, lines int)) *Picture {
	p := &Picture{out: out, size: size, restore: func() {}}
	if file, ok := out.(*os.File); ok {
		p.restore = keepWhatIsDrawn(file)
	}
	return p
}

// Write collects whole lines, to be printed above the picture. Any goroutine may call it.
func (p *Picture) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.above.Write(text)
}

func (p *Picture) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.above.Reset()
	return p.above.String()
}

// Draw replaces the lines on the screen with the lines that the function returns for the terminal's number of columns
// and lines. Control sequences in text written to the picture are made readable. No two goroutines may draw at once.
func (p *Picture) Draw(lines func(columns, lines int) []string) error {
	columns, rows := p.size()
	var b strings.Builder
	up, beyond := p.drawn.rows(columns, rows)
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", up)
	}
	printed, open := calm(p.take())
	if printed += open; printed != "" {
		beyond = 0 // the printed text is between the picture and the lines beyond the screen
	}
	b.WriteString(strings.ReplaceAll(printed, "\n", newLine))
	picture := lines(columns, rows)
	b.WriteString(cutLines)
	for _, l := range picture {
		b.WriteString(l + newLine)
	}
	b.WriteString(wrapLines + eraseBelow)
	p.drawn = drawing{lines: picture, columns: columns, beyond: beyond}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// Close leaves the last picture on the screen and restores the terminal.
func (p *Picture) Close() { p.restore() }

// The terminal cuts off lines of the picture that are too wide: a line that wrapped onto the next one would make the
// cursor miss the first line at the next redraw.
const (
	cutLines  = "\x1b[?7l"
	wrapLines = "\x1b[?7h"
)

// The previous picture is erased line by line, followed by the screen below it: when a terminal is asked to erase its
// whole screen, it first copies the screen to its history. It would do so each time a picture that begins at the top is
// redrawn.
const (
	newLine    = "\x1b[K\n"
	eraseBelow = "\x1b[J"
)

// drawing is a picture on the screen.
type drawing struct {
	lines   []string
	columns int // the columns of the terminal when the lines were drawn
	beyond  int // lines that have moved beyond the upper end of the screen, directly above it
}

// rows returns how many rows the drawing now takes up on the screen and beyond it, because the size of the terminal may
// have changed. A narrower terminal breaks wide lines; a shorter one moves the upper lines out of sight, and a taller
// one brings them back.
func (d drawing) rows(columns, lines int) (up, beyond int) {
	if len(d.lines) == 0 {
		return 0, 0
	}
	all := d.beyond
	for _, l := range d.lines {
		all += max(1, (min(Width(l), d.columns)+columns-1)/columns)
	}
	up = min(all, max(1, lines-1))
	return up, all - up
}
