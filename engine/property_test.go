package engine_test

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"zerodag/engine"
	"zerodag/engine/enginetest/draw"
	"zerodag/engine/enginetest/simulation"
)

// drawn lets rapid choose, so that it can shrink failures; it prints how to reproduce one. Numbers are composed of coin
// flips: rapid's own ranges prefer small numbers, which produce small workflows that end at once.
func drawn(t *rapid.T) draw.Choose {
	return func(label string, n int) int {
		return rapid.Custom(func(t *rapid.T) int {
			x := 0
			for range 4 + bits.Len(uint(n)) {
				x <<= 1
				if rapid.Bool().Draw(t, "bit") {
					x++
				}
			}
			return x % n
		}).Draw(t, label)
	}
}

func simulate(t *rapid.T, s *simulation.Attempt, steps int) {
	s.Choose, s.Check = drawn(t), engine.Recount
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	proceed(t, s, steps)
}

// proceed feeds random events, then carries out the outstanding effects until the attempt has ended.
func proceed(t *rapid.T, s *simulation.Attempt, steps int) {
	for range s.Choose("steps", steps) {
		if s.Ended() {
			break
		}
		if err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
}

// resume drives an attempt and up to two more, each of which resumes the previous attempt if that one did not succeed.
func resume(t *rapid.T, s *simulation.Attempt, steps int) {
	simulate(t, s, steps)
	for range 2 {
		resumed, err := s.Resume()
		if err != nil {
			t.Fatal(err)
		}
		if !resumed {
			return
		}
		proceed(t, s, 30)
	}
}

// portions makes only some of the attempts large, because large ones take long.
func portions(t *rapid.T, s *simulation.Attempt) {
	if drawn(t)("large", 4) == 3 {
		simulate(t, s, 15)
	}
}

// TestRandomAttempts drives random workflows through random events: repeated, stale, lost, killed, stored and loaded.
// It compares each state with the reference model, the stored changes and a recount, and parameters with the literal
// rule.
func TestRandomAttempts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"a", "b", "c", "d", "e"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { simulate(t, &simulation.Attempt{}, 40) })
		})
	}
}

// TestRandomGatedAttempts does the same with keys that zerodag adds, which the model does not support: each attempt
// ends, and stored changes, snapshots and a recount agree. Skipped tasks never run.
func TestRandomGatedAttempts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"a", "b", "c"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				resume(t, &simulation.Attempt{Gated: true}, 60)
			})
		})
	}
}

// TestRandomGatedPortions does the same as TestRandomGatedAttempts with operators that generate more than one portion.
func TestRandomGatedPortions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		portions(t, &simulation.Attempt{Large: true, Gated: true})
	})
}

// TestRandomResumes starts a second attempt from each attempt that did not succeed.
func TestRandomResumes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		resume(t, &simulation.Attempt{}, 40)
	})
}

// TestRandomPortions does the same as TestRandomAttempts with operators that generate more than one portion.
func TestRandomPortions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		portions(t, &simulation.Attempt{Large: true})
	})
}
