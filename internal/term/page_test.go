package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestPlainPage checks how each form of Markdown that the pages use is shown, and that a link gets the number of its
// target unless its text is the target or there is no text to show for the target.
func TestPlainPage(t *testing.T) {
	t.Parallel()
	markdown := strings.Join([]string{
		"# x>", "", "Does `x`, see [the", "site](https://example.com), [x](x) or [here](nowhere).", "",
		"## Parameters", "", "| parameter | type | default | |", "|---|---|---|---|",
		"| `x>` | text | required | either `a\\|b` |", "| `y` | list | none | |", "| `z` | text | – | |", "| `d` | number | `3` | how often |", "",
		"## Example", "", "```yaml", "+a:", "  # a comment", "  x>: y", "```",
		"- one", "- two " + strings.Repeat("word ", 16), "", "1. first", "2. second", "", "## `_x` and", "", "| key | value | |", "|---|---|---|", "| `a` | b | c |", "", "## Errors", "", "| error | why |", "|---|---|", "| `no x` | there is [none](none.md), see [it](https://example.com) |",
	}, "\n")
	want := strings.Join([]string{
		"x>", "", "  Does `x`, see the site [1], x or here.", "",
		"PARAMETERS", "  x> (text, required)", "      either `a|b`", "  y (list, optional)", "  z (text)", "  d (number; default: 3)", "      how often", "",
		"EXAMPLE", "      +a:", "        # a comment", "        x>: y", "",
		"  - one", "  - two word word word word word word word word word word word word word word", "    word word", "", "  1. first", "  2. second", "",
		"_x and", "  a", "      value: b; c", "",
		"ERRORS", "  no x", "      there is none [2], see it [1]", "", "LINKS", "  [1] https://example.com", "  [2] docs none", "", "",
	}, "\n")
	address := func(target string) string {
		if target == "nowhere" {
			return ""
		}
		return strings.Replace(target, "none.md", "docs none", 1)
	}
	if diff := cmp.Diff(want, PlainPage(markdown, address)); diff != "" {
		t.Error(diff)
	}
}

// FuzzPlainPage proves that no word of a page is lost on its way to a terminal.
func FuzzPlainPage(f *testing.F) {
	f.Add("# a\n\ntext `b`\n\n- c\n1. d\n\n| e | f | g | h |\n|---|---|---|---|\n| i | j |\n\n```\nk\n")
	f.Add("|\n|-|\n||||\n    x\n")
	f.Fuzz(func(t *testing.T, page string) {
		if strings.ContainsAny(page, "|`[#") || !utf8.ValidString(page) {
			PlainPage(page, same) // Markdown marks may be removed
			return
		}
		if want, got := strings.Fields(page), strings.Fields(PlainPage(page, same)); len(want) != len(got) {
			t.Errorf("%q becomes %q", page, PlainPage(page, same))
		}
	})
}

func same(target string) string { return target }
