package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
)

// TestFaults proves that the wrapper injects each of its faults, the same ones for the same seed, and that calls that
// it did not carry out have no effect on the store.
func TestFaults(t *testing.T) {
	t.Parallel()
	first, second, other := faultyRun(t, 1), faultyRun(t, 1), faultyRun(t, 2)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs of one seed (-first +second):\n%s", diff)
	}
	if first == other {
		t.Error("two seeds have the same faults")
	}
	for _, kind := range []string{"Refuse", "LoseAnswer", "Delay", "Conflict", "Drop", "Duplicate", "Reorder", "CrashBefore", "CrashAfter"} {
		if !strings.Contains(first, kind) {
			t.Errorf("no fault of kind %s in\n%s", kind, first)
		}
	}
}

// faultyRun appends and sends until everything is done, and returns what happened.
func faultyRun(t *testing.T, seed uint64) string {
	var trace strings.Builder
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{})
		id := started(t, db, 1)[0]
		f := faults.New(seed, faults.Rates{Refuse: .05, LoseAnswer: .1, Delay: .1, Conflict: .1, Drop: .1, Duplicate: .1, Reorder: .1,
			CrashBefore: .02, CrashAfter: .02, MaxDelay: time.Second})
		p := f.Process()
		note := func(what string, err error) bool {
			fmt.Fprintln(&trace, what, err)
			if errors.Is(err, faults.ErrCrashed) {
				p = f.Process()
			}
			return err == nil
		}
		for seq := int64(2); seq < 60; {
			if note(fmt.Sprint("append ", seq), p.Log(db).Append(t.Context(), id, host.Entry{Seq: seq, Nonce: "n"})) {
				seq++
			}
		}
		for i := 0; i < 40; {
			if note(fmt.Sprint("send ", i), p.Queue("tasks", db.Queue("tasks")).Send(t.Context(), host.Message{ID: fmt.Sprint(i)})) {
				i++
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for of, q := p, p.Queue("tasks", db.Queue("tasks")); ctx.Err() == nil; {
			if of != p {
				of, q = p, p.Queue("tasks", db.Queue("tasks"))
			}
			list, err := q.Receive(ctx, 1, time.Minute)
			if note(fmt.Sprint("receive ", len(list)), err) {
				note(fmt.Sprint("delete ", list[0].ID, " ", list[0].Count), q.Delete(ctx, list[0]))
			}
		}
		if n := db.Queue("tasks").index.visible() + len(db.Queue("tasks").index.byID); n != 0 {
			t.Errorf("%d messages were never deleted", n)
		}
		l, err := db.Load(t.Context(), id)
		if err != nil || len(l.Entries) != 59 {
			t.Errorf("the log has %d entries, want 59 (%v)", len(l.Entries), err)
		}
		done := f.Injected()
		for _, kind := range slices.Sorted(maps.Keys(done)) {
			fmt.Fprintln(&trace, kind, done[kind])
		}
	})
	return trace.String()
}
