//go:build linux

package main

import (
	"testing"

	others "zerodag/internal/limits"
	"zerodag/operators"
)

// TestSameRules checks that the runner's own copies of rules, which it has because it links only the standard library,
// work like the other executors' rules.
func TestSameRules(t *testing.T) {
	t.Parallel()
	for first := others.OOMKills(); ; first = others.OOMKills() {
		got := oomKills()
		if again := others.OOMKills(); again != first {
			continue // another process ran out of memory in the meantime
		}
		if got != first {
			t.Errorf("processes ended for their memory: %d, want %d", got, first)
		}
		break
	}
	for _, n := range []int64{0, 1, 1023, 1 << 10, 1536 << 10, 10<<20 + 1, 1 << 30, 3 << 40, 1<<62 - 1} {
		if got, want := size(n), operators.Size(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
		if got, want := outOfMemory(n), operators.OutOfMemory(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
