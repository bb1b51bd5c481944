package term

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal is a stream that a user watches. Text from elsewhere (names, task logs, server errors) may change colors
// there, but must not move the cursor, clear the screen, set titles or send responses in place of the keyboard. Output
// that does not go to a terminal is unchanged.
type terminal struct {
	*os.File

	mu   sync.Mutex
	rest string // the beginning of an incomplete character or color sequence
}

// Guard returns a stream that neutralizes hostile control sequences if the file is a terminal, otherwise the file
// itself.
func Guard(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return &terminal{File: f}
	}
	return f
}

// Write writes harmless text unchanged, and everything else in readable form.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text string
	text, t.rest = calm(t.rest + string(p))
	if _, err := t.File.WriteString(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString calls Write, because the file's method would let everything through.
func (t *terminal) WriteString(text string) (int, error) { return t.Write([]byte(text)) }

// ReadFrom copies through Write, for the same reason.
func (t *terminal) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{t}, r)
}

// longestColour limits a sequence that sets colors.
const longestColour = 64

// calm makes control characters readable, except line ends, tabs and sequences that set colors. rest is the end of the
// text that cannot be judged yet.
func calm(text string) (out, rest string) {
	var b strings.Builder
	for text != "" {
		plain := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f })
		if plain < 0 {
			plain = len(text)
		}
		b.WriteString(text[:plain])
		if text = text[plain:]; text == "" {
			break
		}
		color, open := colorAt(text)
		c, size := utf8.DecodeRuneInString(text)
		switch {
		case color != "":
			b.WriteString(color)
			size = len(color)
		case open, text == "\r", !utf8.FullRuneInString(text):
			return b.String(), text
		case strings.HasPrefix(text, "\r\n"):
			b.WriteString("\r\n")
			size = 2
		default:
			b.WriteString(readable(c))
		}
		text = text[size:]
	}
	return b.String(), ""
}

// readable returns a character in a form that may be shown.
func readable(c rune) string {
	switch {
	case c < ' ' || c == 0x7f:
		return "^" + string(c^0x40)
	case c >= 0x80 && c < 0xa0:
		return fmt.Sprintf("\\x%02x", c)
	case turns(c):
		return fmt.Sprintf("\\u%04x", c)
	}
	return string(c)
}

// turns reports whether a character reverses the direction of the following text, so that a line reads differently.
func turns(c rune) bool { return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 }

// colorAt returns the sequence at the beginning that sets colors; open means that it may become one.
func colorAt(text string) (color string, open bool) {
	const begin = "\x1b["
	if !strings.HasPrefix(text, begin) {
		return "", text == begin[:1]
	}
	end := strings.IndexFunc(text[len(begin):], func(c rune) bool { return !strings.ContainsRune("0123456789;:", c) })
	switch {
	case end < 0:
		return "", len(text) < longestColour
	case text[len(begin)+end] == 'm' && end < longestColour:
		return text[:len(begin)+end+1], false
	}
	return "", false
}

// OneLine makes control characters readable, including line ends: for values in a log line.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 || c == utf8.RuneError || turns(c) }) {
		return text
	}
	var b strings.Builder
	for i, c := range text {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c >= 0x7f && c < 0xa0:
			fmt.Fprintf(&b, "\\x%02x", c)
		case turns(c):
			fmt.Fprintf(&b, "\\u%04x", c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Watched returns the terminal behind a stream that Guard returned. It returns false if there is none, if the terminal
// cannot move its cursor, or if no user watches it.
func Watched(w io.Writer) (*os.File, bool) {
	t, ok := w.(*terminal)
	if !ok {
		return nil, false
	}
	return t.File, term.IsTerminal(int(t.File.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// Keyboard returns the terminal at which a user types the input of a stream, if it is one.
func Keyboard(r io.Reader) (*os.File, bool) {
	file, ok := r.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// ReadHidden reads a line typed at a keyboard without showing it.
func ReadHidden(keyboard *os.File) (string, error) {
	text, err := term.ReadPassword(int(keyboard.Fd()))
	return string(text), err
}

// Size returns a function that returns the current columns and lines of a terminal.
func Size(f *os.File) func() (int, int) {
	return func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w == 0 || h == 0 {
			return environmentNumber("COLUMNS", 80), environmentNumber("LINES", 24)
		}
		return w, h
	}
}

func environmentNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
