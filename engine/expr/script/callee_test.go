package script

import (
	"strings"
	"testing"
)

// TestCalleeBefore checks that the expression in front of a parenthesis is found whole, or not at all.
func TestCalleeBefore(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"((__t=(s.nosuch|())":           "s.nosuch",
		"(a[0].b(1, (2)).c |(x))":       "a[0].b(1, (2)).c",
		"1+x.y|()":                      "x.y",
		"(|)":                           "",
		"a]b)c|(":                       "",
		strings.Repeat("a", 300) + "|(": "",
	} {
		at := strings.IndexByte(line, '|')
		if got := calleeBefore(strings.Replace(line, "|", "", 1), at); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// FuzzCalleeBefore checks that the result for any line and place is a part of the line.
func FuzzCalleeBefore(f *testing.F) {
	f.Add("((__t=(s.nosuch())", 14)
	f.Add("a[0](", 4)
	f.Fuzz(func(t *testing.T, line string, at int) {
		if got := calleeBefore(line, at); !strings.Contains(line, got) || len(got) > maxCallee {
			t.Errorf("%q is no part of %q", got, line)
		}
	})
}
