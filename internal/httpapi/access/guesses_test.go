package access

import (
	"strconv"
	"testing"
	"time"
)

// TestPenalty checks how long callers must wait after failed logins: not at all at first, then twice as long each time
// up to a limit. A success or enough time resets the wait. Many names neither use up memory nor make the server forget
// the name under attack.
func TestPenalty(t *testing.T) {
	t.Parallel()
	g, now := newGuesses(), time.Unix(1_700_000_000, 0)
	who := guesser{address: "192.0.2.1", user: [32]byte{1}}
	var waits []time.Duration
	for range freeFailures + 7 {
		waits = append(waits, g.penalty(who, now))
		g.failed(who, now)
	}
	for i, w := range waits {
		want := time.Duration(0)
		if over := i - freeFailures; over >= 0 {
			want = min(time.Second<<over, longestPenalty)
		}
		if w != want {
			t.Errorf("after %d failures: %v, want %v", i, w, want)
		}
	}
	for i := range 3 * mostGuessers {
		g.failed(guesser{address: "2001:db8::/64 " + strconv.Itoa(i)}, now)
	}
	if len(g.found) > mostGuessers {
		t.Errorf("%d guessers are known, want at most %d", len(g.found), mostGuessers)
	}
	if w := g.penalty(who, now); w != longestPenalty {
		t.Errorf("after many others: %v", w)
	}
	if w := g.penalty(who, now.Add(longestPenalty)); w > 0 {
		t.Errorf("after the wait: %v", w)
	}
	if _, _ = g.failed(who, now.Add(forgiven+time.Second)); g.found[who].failures != 1 {
		t.Errorf("%d failures after a long time", g.found[who].failures)
	}
	g.succeeded(who)
	if _, known := g.found[who]; known {
		t.Error("success does not forgive")
	}
}

// TestTold proves that a flood of failures is logged in a few lines.
func TestTold(t *testing.T) {
	t.Parallel()
	g, now, lines := newGuesses(), time.Unix(1_700_000_000, 0).Truncate(time.Minute), 0
	for i := range 5000 {
		if _, tell := g.failed(guesser{address: strconv.Itoa(i % 500)}, now); tell {
			lines++
		}
	}
	if lines != toldEachMinute {
		t.Errorf("%d lines in a minute, want %d", lines, toldEachMinute)
	}
	if _, tell := g.failed(guesser{address: "another"}, now.Add(time.Minute)); !tell {
		t.Error("the guesses of the next minute are not reported")
	}
}
