package node_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// sizes holds the sizes of a log's entries in bytes, separately for changes and snapshots.
type sizes struct {
	host.Log
	mu                 sync.Mutex
	changes, snapshots []int
}

func (l *sizes) Append(ctx context.Context, attempt int64, e host.Entry) error {
	err := l.Log.Append(ctx, attempt, e)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changes, l.snapshots = append(l.changes, len(e.Changes)), append(l.snapshots, len(e.Snapshot))
	}
	return err
}

// noted runs a host whose log records the sizes of its entries.
func (w *world) noted(limits host.Limits) (*process, *sizes) {
	l := &sizes{}
	return w.serve(func(o *node.Options) {
		l.Log = o.Log
		o.Log, o.Limits = l, limits
	}), l
}

// gaps returns how many bytes the log has before each snapshot and after the last one.
func (l *sizes) gaps(before int) (list []int, behind int) {
	behind = before
	for i, n := range l.changes {
		if behind += n; l.snapshots[i] > 0 {
			list, behind = append(list, behind), 0
		}
	}
	return list, behind
}

// linked returns a chain of tasks, each of which adds half a kilobyte to the log.
func linked(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "+t%d: {work>: w}\n", i)
	}
	return b.String()
}

func (w *world) stores(size int) {
	w.on("w", func(context.Context, *operators.Task) (operators.Result, error) {
		time.Sleep(time.Second)
		return operators.Result{Store: param.New("last", strings.Repeat("x", size))}, nil
	})
}

// TestSnapshotsOfChains checks where snapshots are made: rarely by a process that writes all entries of an attempt,
// early if another process reads the log next, and always often enough to keep reads small.
func TestSnapshotsOfChains(t *testing.T) {
	t.Parallel()
	const floor, alone, entry = 16 << 10, 64 << 10, 2 << 10
	within := func(t *testing.T, what string, got, from, to int) {
		t.Helper()
		if got < from || got > to {
			t.Errorf("%s: %d bytes, want %d to %d", what, got, from, to)
		}
	}
	t.Run("a process that goes on", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.stores(500)
			p, l := w.noted(host.Limits{})
			if status := p.end(p.run(linked(150))); status != "success" {
				t.Fatal(status)
			}
			gaps, behind := l.gaps(0)
			if len(gaps) == 0 {
				t.Fatalf("no snapshot in %d bytes", behind)
			}
			for _, n := range gaps {
				within(t, "before a snapshot", n, alone-entry, alone+entry) // entry 1 is written with the attempt
			}
		})
	})
	t.Run("another takes over in time", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.stores(500)
			p, l := w.noted(host.Limits{ChainTime: 40 * time.Second})
			if status := p.end(p.run(linked(100))); status != "success" {
				t.Fatal(status)
			}
			gaps, _ := l.gaps(0)
			if len(gaps) < 2 {
				t.Errorf("%d snapshots where the chain is handed over", len(gaps))
			}
			for _, n := range gaps {
				within(t, "before a snapshot", n, floor, alone/2)
			}
		})
	})
	t.Run("several tasks come next", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.stores(500)
			p, l := w.noted(host.Limits{})
			if status := p.end(p.run(linked(60) + "+all:\n  _parallel: true\n  +a: {work>: w}\n  +b: {work>: w}\n")); status != "success" {
				t.Fatal(status)
			}
			gaps, _ := l.gaps(0)
			if len(gaps) != 1 || l.snapshots[59] == 0 {
				t.Errorf("snapshots behind %d bytes, not where two tasks come next", gaps)
			}
		})
	})
	t.Run("others have a part in it", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) {
			w.stores(500)
			p, l := w.noted(host.Limits{})
			read := 0 // when the log was read because another process seemed to have been first
			w.intercept(func(call string, done bool) error {
				if _, behind := l.gaps(0); read == 0 && behind > 2*floor && !done && strings.HasPrefix(call, "append") {
					read = behind
					return host.ErrConflict
				}
				return nil
			})
			if status := p.end(p.run(linked(100))); status != "success" {
				t.Fatal(status)
			}
			gaps, _ := l.gaps(0)
			within(t, "before the first snapshot", gaps[0], read, read+entry)
		})
	})
}
