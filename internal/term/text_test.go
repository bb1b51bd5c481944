package term_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"zerodag/internal/term"
)

// TestWideTable proves that columns stay aligned if names contain characters that take up two columns.
func TestWideTable(t *testing.T) {
	t.Parallel()
	table := term.NewTable(term.Column{Title: "NAME", Name: true}, term.Column{Title: "STATUS"})
	for _, name := range []string{"日次集計", "daily", "データ連携の夜間バッチ処理", "e\u0301te\u0301", "👩‍💻 jobs"} {
		table.Add(name, "ok")
	}
	for _, columns := range []int{0, 24} {
		lines := strings.Split(strings.TrimSpace(table.Text(false, columns, term.Palette{})), "\n")
		if len(lines) != 6 {
			t.Fatalf("%q", lines)
		}
		begin := strings.Index(lines[0], "STATUS")
		for _, line := range lines[1:] {
			name, found := strings.CutSuffix(line, "ok")
			if !found || term.Width(name) != begin {
				t.Errorf("%q: the status begins at %d, want %d", line, term.Width(name), begin)
			}
		}
	}
}

// FuzzShorten proves that a shortened string is valid and no wider than requested, and that a string that fits is
// unchanged.
func FuzzShorten(f *testing.F) {
	for _, text := range []string{"", "daily", "日次集計のバッチ", "e\u0301\u0301\u0301", "👩‍💻👩‍💻👩‍💻", "a\x1b[31mb\x1b[0mc", "\u200b\u200b", "\xff\xfe"} {
		f.Add(text, 4)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		text = term.OneLine(strings.ToValidUTF8(text, "?")) // like all text from outside
		most %= 100
		for name, cut := range map[string]func(string, int) string{"Shorten": term.Shorten, "ShortenEnd": term.ShortenEnd} {
			got := cut(text, most)
			if !utf8.ValidString(got) || most > 0 && term.Width(got) > most {
				t.Errorf("%s(%q, %d) is %q, of width %d", name, text, most, got, term.Width(got))
			}
			if most > 0 && term.Width(text) <= most && got != text {
				t.Errorf("%s(%q, %d) is %q", name, text, most, got)
			}
		}
	})
}
