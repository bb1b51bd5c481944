package dig

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLargeFiles checks that the cost of reading a file is proportional to its size, whatever its content. The limit is
// a hundred times the usual cost; a quadratic reader would take minutes.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(format, "N", fmt.Sprint(i)))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"tasks":             numbered("+tN: {echo>: x}\n"),
		"wrong tasks":       numbered("+tN: x\n"),
		"unknown keys":      numbered("kN: x\n"),
		"comments":          strings.Repeat("# c\n", size/4) + "+a: {}\n",
		"comments in lists": "_export:\n  l:\n" + strings.Repeat("  - x # c\n  # d\n", size/16),
		"comments in maps":  numbered("+kN: {}\n# c\n\n# d\n"),
		"flow list":         "_export: {l: [" + strings.Repeat("x,", size/2) + "]}\n",
		"open brackets":     "a: " + strings.Repeat("[", size),
		"open braces":       strings.Repeat("{a: ", size/4),
		"dashes":            strings.Repeat("- ", size/2),
		"long text":         "_export: {t: \"" + strings.Repeat("x ", size/2) + "\"}\n",
		"blank lines":       strings.Repeat("\n", size) + "+a: {}\n",
		"anchors":           numbered("+kN: &aN {}\n"),
		"one key":           strings.Repeat("? a\n", size/4),
		"merges":            "_export: &e {a: 1, b: 2}\n" + numbered("+kN:\n  _export: {<<: *e, a: N}\n"),
		"overridden keys":   "_export:\n  base: &b\n" + numbered("    kN: 1\n") + "  copy:\n    <<: *b\n" + numbered("    kN: 2\n"),
		"late error":        numbered("+kN: {}\n") + "\tx: [",
		"digits":            "_export: {n: " + strings.Repeat("9", size) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := Load(mapSource(map[string]string{"main.dig": text}), []string{"main.dig"})
			if spent := time.Since(start); spent > 30*time.Second {
				t.Errorf("took %v", spent)
			}
			if err != nil && len(err.Error()) > 1<<20 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}
