package param

import "testing"

// TestPattern checks patterns with and without slashes.
func TestPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		is, in        bool
	}{
		{"JP", "JP", true, true}, {"JP", "in JP!", false, true}, {"JP", "jp", false, false},
		{"/^J/", "JP", true, true}, {"/^J/", "in JP", false, false}, {"/J", "/J", true, true}, {"/", "/", true, true}, {"//", "x", true, true}, {"a/b/", "a/b/", true, true},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil || p.Is(c.text) != c.is || p.In(c.text) != c.in {
			t.Errorf("%q and %q: is %v, in %v, %v", c.pattern, c.text, p.Is(c.text), p.In(c.text), err)
		}
	}
	if _, err := ParsePattern("/(/"); err == nil {
		t.Error("a wrong expression is accepted")
	}
}
