//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestMasker checks that secrets are removed however the text is split into pieces, and that the masker delays no text
// that cannot begin a secret.
func TestMasker(t *testing.T) {
	t.Parallel()
	const text = "a hunter2hunter2 b hunter2hunter2hunter2 c hunter2hunt d short e\n"
	const want = "a **** b ****hunter2 c hunter2hunt d short e\n"
	for size := 1; size <= len(text); size++ {
		m := newMasker([]string{"hunter2h", "hunter2hunter2", "short"})
		var out strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			out.Write(m.pass([]byte(rest[:n])))
			rest = rest[n:]
		}
		out.Write(m.rest())
		if got := out.String(); strings.Contains(got, "hunter2hunter2") || size == len(text) && got != strings.Replace(want, "c hunter2hunt", "c ****unt", 1) {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
	m := newMasker([]string{"correct-horse"})
	if got := string(m.pass([]byte("a line that is said\n"))); got != "a line that is said\n" {
		t.Errorf("held back: only %q was said", got)
	}
	if got := string(m.pass([]byte("it is correct"))) + "|" + string(m.pass([]byte("-horse!"))); got != "it is |****!" {
		t.Errorf("over two pieces: %q", got)
	}
}
