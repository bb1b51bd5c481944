package term

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns how many columns a string takes up on a terminal: colors take up none, and Chinese, Japanese and Korean
// characters take up two.
func Width(text string) int { return ansi.StringWidth(text) }

// Shorten cuts a string that is wider than most columns in the middle, where names differ least.
func Shorten(text string, most int) string {
	all := Width(text)
	if all <= most || most < 1 {
		return text
	}
	begin := ansi.Truncate(text, (most-1)/2, "")
	room := most - 1 - (most-1)/2
	end := text
	for gone := all - room; Width(end) > room; gone++ { // a two-column character may cross the edge
		end = ansi.TruncateLeft(text, gone, "")
	}
	return begin + "…" + end
}

// ShortenEnd cuts the end of a string that is wider than most columns.
func ShortenEnd(text string, most int) string {
	if most < 1 {
		return ""
	}
	return ansi.Truncate(text, most, "…")
}

// wrapped breaks text into lines that are no wider than most columns; a longer word gets a separate line.
func wrapped(text, first, rest string, most int) string {
	var b strings.Builder
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && Width(line)+1+Width(word) > most {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
	return b.String()
}

// Fitting breaks lines between words if they are wider than the given number of columns; 0 means no limit.
func Fitting(text string, columns int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if columns == 0 || Width(line) <= columns {
			b.WriteString(line + "\n")
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(wrapped(line, indent, indent+"  ", columns))
	}
	return b.String()
}

// Counted returns a number followed by the noun that it counts, with an s unless the number is 1.
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ShellWord quotes a word if a shell would split or change it.
func ShellWord(w string) string {
	harmless := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_./+=:@%^,", c)
	}
	if w != "" && !slices.ContainsFunc([]rune(w), func(c rune) bool { return !harmless(c) }) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Indented puts a prefix before every line, and a newline after the last one.
func Indented(text, prefix string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(prefix + line + "\n")
	}
	return b.String()
}
