package term

import (
	"io"
	"os"
)

// Look returns the width of the terminal behind a stream and its colors, or 0 and no colors if it is not a terminal
// that a user watches.
func Look(w io.Writer) (columns int, ink Palette) {
	file, ok := Watched(w)
	if !ok {
		return 0, Palette{}
	}
	columns, _ = Size(file)()
	return columns, NewPalette()
}

// Palette holds the escape sequences for colors; all are empty if NO_COLOR is set.
type Palette struct{ Green, Red, Yellow, Cyan, Dim, Reset string }

// NewPalette returns the colors of a terminal.
func NewPalette() Palette {
	if os.Getenv("NO_COLOR") != "" {
		return Palette{}
	}
	return Palette{"\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[2m", "\x1b[0m"}
}
