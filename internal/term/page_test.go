package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPlainPage(t *testing.T) {
	t.Parallel()
	markdown := strings.Join([]string{
		"# x>", "", "Does `x`, see [the", "site](https://example.com).", "",
		"## Parameters", "", "| parameter | type | default | |", "|---|---|---|---|",
		"| `x>` | text | required | either `a\\|b` |", "| `y` | list | none | |", "| `z` | text | – | |", "| `d` | number | `3` | how often |", "",
		"## Example", "", "```yaml", "+a:", "  # a comment", "  x>: y", "```",
		"- one", "- two " + strings.Repeat("word ", 16), "", "1. first", "2. second", "", "## `_x` and", "", "| key | value | |", "|---|---|---|", "| `a` | b | c |", "", "## Errors", "", "| error | why |", "|---|---|", "| `no x` | there is none |",
	}, "\n")
	want := strings.Join([]string{
		"x>", "", "  Does `x`, see the site.", "",
		"PARAMETERS", "  x> (text, required)", "      either `a|b`", "  y (list, optional)", "  z (text)", "  d (number; default: 3)", "      how often", "",
		"EXAMPLE", "      +a:", "        # a comment", "        x>: y", "",
		"  - one", "  - two word word word word word word word word word word word word word word", "    word word", "", "  1. first", "  2. second", "",
		"_x and", "  a", "      value: b; c", "",
		"ERRORS", "  no x", "      there is none", "", "",
	}, "\n")
	if diff := cmp.Diff(want, PlainPage(markdown)); diff != "" {
		t.Error(diff)
	}
}

// FuzzPlainPage proves that no page is lost on its way to a terminal: of each word something is shown.
func FuzzPlainPage(f *testing.F) {
	f.Add("# a\n\ntext `b`\n\n- c\n1. d\n\n| e | f | g | h |\n|---|---|---|---|\n| i | j |\n\n```\nk\n")
	f.Add("|\n|-|\n||||\n    x\n")
	f.Fuzz(func(t *testing.T, page string) {
		if strings.ContainsAny(page, "|`[#") || !utf8.ValidString(page) {
			PlainPage(page) // signs of Markdown may go
			return
		}
		if want, got := strings.Fields(page), strings.Fields(PlainPage(page)); len(want) != len(got) {
			t.Errorf("%q becomes %q", page, PlainPage(page))
		}
	})
}
