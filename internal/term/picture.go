package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Picture is lines below everything that was written to a terminal, which are drawn again and again in the same place.
// Text written to a Picture appears above them when it is drawn the next time, and stays.
type Picture struct {
	out     io.Writer
	size    func() (columns, lines int)
	restore func() // makes the terminal as it was
	drawn   drawing

	mu    sync.Mutex
	above strings.Builder // whole lines, to be printed above
}

// NewPicture draws on a terminal of a size that may change meanwhile.
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

// Draw replaces the lines on the screen by the lines that the function returns for a terminal of so many columns and
// lines. Control sequences in text written to the picture are made readable. No two goroutines may draw at once.
func (p *Picture) Draw(lines func(columns, lines int) []string) error {
	columns, rows := p.size()
	var b strings.Builder
	up, beyond := p.drawn.rows(columns, rows)
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", up)
	}
	printed, open := calm(p.take())
	if printed += open; printed != "" {
		beyond = 0 // it is between the picture and the lines beyond the screen
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

// Close leaves the last picture as it is, and makes the terminal as it was before.
func (p *Picture) Close() { p.restore() }

// The terminal cuts lines of the picture that are too wide: a line that continued on the next one would make the cursor
// miss the first line at the next redraw.
const (
	cutLines  = "\x1b[?7l"
	wrapLines = "\x1b[?7h"
)

// The previous picture is erased line by line, and below the last one: when a terminal is asked to erase its whole
// screen, it adds a copy to its history, at each redraw of a picture that begins at its top.
const (
	newLine    = "\x1b[K\n"
	eraseBelow = "\x1b[J"
)

// drawing is a picture on the screen.
type drawing struct {
	lines   []string
	columns int // of the terminal when they were drawn
	beyond  int // lines that went beyond the upper end of the screen, directly above
}

// rows are the rows of the screen that the drawing takes now, and beyond it, if the size of the terminal may have
// changed. A narrower one breaks wide lines; a lower one moves the upper lines out of sight, and a higher one brings
// them back.
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
