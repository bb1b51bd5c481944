package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// take waits for a place.
func take(t *testing.T, p *Places, key string) (leave func()) {
	t.Helper()
	leave, err := p.Take(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// TestTurns proves that callers get free places in turn, however many places one of them waits for.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 0, 0)
		leave := take(t, p, "a")
		var order []string
		var all sync.WaitGroup
		for _, key := range []string{"a", "a", "a", "b", "c", "b"} {
			all.Go(func() {
				leave := take(t, p, key)
				order = append(order, key)
				leave()
			})
			synctest.Wait()
		}
		leave()
		all.Wait()
		if got := order; len(got) != 6 || got[0] != "a" || got[1] != "b" || got[2] != "c" || got[3] != "a" || got[4] != "b" {
			t.Errorf("places were given in the order %v", got)
		}
		if len(p.callers) != 0 || len(p.order) != 0 || p.taken != 0 {
			t.Errorf("something is left: %+v", p)
		}
	})
}

// TestSpare proves that a caller with all places does not keep a caller without a place waiting.
func TestSpare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(2, 0, 1)
		a, b := take(t, p, "large"), take(t, p, "large")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Take(ctx, "large"); err == nil {
			t.Error("the spare place is for others")
		}
		c := take(t, p, "small")
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Take(ctx, "third"); err == nil {
			t.Error("there are more places than spare ones")
		}
		a()
		b()
		c()
	})
}

// TestEach proves that a caller cannot have more places than its limit.
func TestEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(4, 1, 0)
		leave := take(t, p, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := p.Take(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second place: %v", err)
		}
		take(t, p, "b")()
		leave()
		take(t, p, "a")()
	})
}

// TestDelay proves that a caller whose work had to be ended waits for its next place while others work, longer each
// time, and that the others do not wait.
func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ended := New(2, 0, 1), t.Context()
		busy, stop := context.WithCancel(t.Context())
		go func() { // another caller works all the time
			for busy.Err() == nil {
				began := time.Now()
				if leave, err := p.Take(ended, "b"); err == nil {
					leave()
				}
				if time.Since(began) != 0 {
					t.Error("another caller waited")
				}
				time.Sleep(time.Second / 3)
			}
		}()
		waited := func() time.Duration {
			leave := take(t, p, "a")
			p.Delay("a")
			p.Delay("a") // the same
			leave()
			began := time.Now()
			take(t, p, "a")()
			return time.Since(began)
		}
		time.Sleep(time.Minute)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			if got := waited(); got != want*time.Second {
				t.Errorf("it waited %s, want %d s", got, want)
			}
		}
		time.Sleep(3 * mostPause)
		if got := waited(); got != firstPause {
			t.Errorf("it waited %s after a quiet time", got)
		}
		stop()
		time.Sleep(company + time.Second)
		if got := waited(); got != 0 {
			t.Errorf("it waited %s without others", got)
		}
	})
}

// TestGiveUp proves that a call that no longer waits leaves no trace, even at the moment of its turn.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	p := New(2, 0, 0)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
			defer cancel()
			if leave, err := p.Take(ctx, string(rune('a'+i%5))); err == nil {
				leave()
			}
		})
	}
	all.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken != 0 || len(p.callers) != 0 {
		t.Errorf("%d places are taken, %d callers are known", p.taken, len(p.callers))
	}
}

// BenchmarkTake measures the cost of taking a free place.
func BenchmarkTake(b *testing.B) {
	p := New(2, 0, 1)
	for b.Loop() {
		leave, err := p.Take(b.Context(), "a")
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
