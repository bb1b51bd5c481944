package pictures

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/vt"
)

// Cast is a recording of a terminal, with times.
type Cast struct {
	Size   Size
	began  time.Time
	events []event
}

// event is some output, with its time after the beginning.
type event struct {
	at   time.Duration
	data string
}

func (c *Cast) add(p []byte) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	c.events = append(c.events, event{time.Since(c.began), string(p)})
}

// castHeader is the first line of a file in the asciicast format, version 2; each further line is an event.
type castHeader struct {
	Version int `json:"version"`
	Width   int `json:"width"`
	Height  int `json:"height"`
}

// Write stores a cast.
func (c *Cast) Write(path string) error {
	var b strings.Builder
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(castHeader{2, c.Size.Columns, c.Size.Lines}); err != nil {
		return err
	}
	for _, e := range c.events {
		if err := w.Encode([]any{e.at.Round(time.Millisecond).Seconds(), "o", e.data}); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// ReadCast reads a stored cast.
func ReadCast(path string) (*Cast, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var h castHeader
	head, rest, _ := strings.Cut(string(text), "\n")
	if err := json.Unmarshal([]byte(head), &h); err != nil || h.Version != 2 {
		return nil, fmt.Errorf("%s: version %d: %w", path, h.Version, err)
	}
	c := &Cast{Size: Size{h.Width, h.Height}}
	for line := range strings.Lines(rest) {
		var seconds float64
		var kind, data string
		if err := json.Unmarshal([]byte(line), &[]any{&seconds, &kind, &data}); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		c.events = append(c.events, event{time.Duration(seconds * float64(time.Second)), data})
	}
	return c, nil
}

// frame is a screen that is visible for a while.
type frame struct {
	lines [][]span
	text  string
	time  time.Duration
}

// span is some text in one style.
type span struct {
	from, columns int
	text, class   string
}

// How long frames are visible: none is too short to be seen, and the last one stays.
const (
	shortest = 120 * time.Millisecond
	lastStay = 5 * time.Second
)

// frames returns the screens of a cast, without screens that are visible too briefly.
func (c *Cast) frames() []frame {
	e := vt.NewEmulator(c.Size.Columns, c.Size.Lines)
	defer e.Close()
	var list []frame
	for i, x := range c.events {
		e.Write([]byte(x.data))
		until := x.at + lastStay
		if i+1 < len(c.events) {
			until = c.events[i+1].at
		}
		now := frame{lines: spansOf(e), text: textOf(e), time: until - x.at}
		switch n := len(list); {
		case n > 0 && list[n-1].time < shortest:
			now.time += list[n-1].time
			list[n-1] = now
		case n > 0 && list[n-1].text == now.text:
			list[n-1].time += now.time
		default:
			list = append(list, now)
		}
	}
	return list
}

// spansOf divides a screen's lines into spans of one style.
func spansOf(e *vt.Emulator) [][]span {
	lines := make([][]span, e.Height())
	for y := range lines {
		var list []span
		for x := range e.Width() {
			cell := e.CellAt(x, y)
			if cell == nil || cell.Content == "" {
				continue
			}
			class := classOf(cell)
			if n := len(list); n > 0 && list[n-1].class == class && list[n-1].from+list[n-1].columns == x {
				list[n-1].text += cell.Content
				list[n-1].columns += cell.Width
				continue
			}
			list = append(list, span{x, cell.Width, cell.Content, class})
		}
		for _, s := range list {
			if trimmed := strings.TrimRight(s.text, " "); trimmed != "" {
				s.columns -= len(s.text) - len(trimmed)
				s.text = trimmed
				lines[y] = append(lines[y], s)
			}
		}
	}
	return lines
}
