package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestCalm proves that only colors, text and line ends reach a terminal, and that every other control sequence is
// shown as characters, even if it arrives in pieces.
func TestCalm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"plain ä 🐧\ttab\nline\r\n", "plain ä 🐧\ttab\nline\r\n"},
		{"\x1b[31mred\x1b[0m \x1b[1;38:5:9mx\x1b[m", "\x1b[31mred\x1b[0m \x1b[1;38:5:9mx\x1b[m"},
		{"\x1b[2J\x1b[1A\x1b[K", "^[[2J^[[1A^[[K"},
		{"\x1b]0;title\a", "^[]0;title^G"},
		{"\x1b]52;c;cm0gLXJm\x1b\\", "^[]52;c;cm0gLXJm^[\\"},
		{"\x1bc\x1bP\x1b[?1049h\x1b[>c", "^[c^[P^[[?1049h^[[>c"},
		{"a\rb\bc\x7fd\x00", "a^Mb^Hc^?d^@"},
		{"\u009b31m\u0085", `\x9b31m\x85`},
		{"\xff\x9bx", "\uFFFD\uFFFDx"},
		{"\x1b[" + strings.Repeat("1;", 100) + "m", "^[[" + strings.Repeat("1;", 100) + "m"},
	} {
		out, rest := calm(c.text)
		if out+rest != c.want {
			t.Errorf("%q: %q, want %q", c.text, out+rest, c.want)
		}
		for cut := range c.text {
			one, left := calm(c.text[:cut])
			two, end := calm(left + c.text[cut:])
			if one+two+end != c.want {
				t.Errorf("%q cut at %d: %q, want %q", c.text, cut, one+two+end, c.want)
			}
		}
	}
}

// TestTerminalGuardsEveryWay proves that text cannot move the cursor of a terminal, whichever method writes it,
// including methods that the underlying file also has.
func TestTerminalGuardsEveryWay(t *testing.T) {
	t.Parallel()
	const evil = "a\u202e\u2066\x1b[2J\x1b[H\x1b]0;title\x07b\n"
	for name, write := range map[string]func(io.Writer) error{
		"Write":       func(w io.Writer) error { _, err := w.Write([]byte(evil)); return err },
		"WriteString": func(w io.Writer) error { _, err := io.WriteString(w, evil); return err },
		"Fprint":      func(w io.Writer) error { _, err := fmt.Fprint(w, evil); return err },
		"Copy":        func(w io.Writer) error { _, err := io.Copy(w, strings.NewReader(evil)); return err },
		"Copy of a reader that cannot write": func(w io.Writer) error {
			_, err := io.Copy(w, io.LimitReader(strings.NewReader(evil), 1000))
			return err
		},
	} {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := write(&terminal{File: file}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(file.Name())
		if err != nil || strings.ContainsAny(string(text), "\x1b\x07\u202e\u2066") || !strings.HasPrefix(string(text), "a") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		file.Close()
	}
}

func BenchmarkCalm(b *testing.B) {
	line := strings.Repeat("a line of a log of some length with \x1b[32mcolour\x1b[0m\n", 100)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if out, _ := calm(line); len(out) != len(line) {
			b.Fatal(time.Now())
		}
	}
}
