package term

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzCalm proves that no output of a task or a server can control a terminal, however it is split into writes, because
// only colors, tabs and line ends are left, and that a value in a log line stays on its line.
func FuzzCalm(f *testing.F) {
	f.Add("plain\n\x1b[31mred\x1b[0m", 3)
	f.Add("\x1b]0;title\x07\x1b[2J\u009b2J\r\r\n\x7f", 1)
	f.Add("\x1b[\x1b[3\xc3\xff1m\x1bPq\x1b\\", 2)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = max(0, min(cut, len(text)))
		first, rest := calm(text[:cut])
		second, rest := calm(rest + text[cut:])
		if len(rest) > longestColour+len("\x1b[") {
			t.Errorf("%q is held back", rest)
		}
		shown := first + second
		for shown != "" {
			if color, _ := colorAt(shown); color != "" {
				shown = shown[len(color):]
				continue
			}
			if c := shown[0]; c < ' ' && c != '\n' && c != '\t' && !strings.HasPrefix(shown, "\r\n") || c == 0x7f {
				t.Fatalf("%q begins %q", first+second, shown)
			}
			shown = shown[1:]
		}
		for _, c := range first + second {
			if c >= 0x7f && c < 0xa0 {
				t.Fatalf("%q holds %U", first+second, c)
			}
		}
		if line := OneLine(text); strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%q is not one line", line)
		}
	})
}
