package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// logSuite checks a host.Log.
func logSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"entries are consecutive":       logOrder,
		"second writer gets a conflict": logConflict,
		"log of an unknown attempt":     logWithoutAttempt,
		"load from the last snapshot":   logSnapshots,
		"history":                       logHistory,
		"large entries":                 logLarge,
		"concurrent appends":            logRace,
	}.Run(t, h)
}

func entry(seq int64, nonce string) host.Entry {
	return host.Entry{Seq: seq, Nonce: nonce, At: suite.Instant(seq), Changes: fmt.Append(nil, "changes ", seq, nonce), Events: fmt.Append(nil, `["`, seq, `"]`)}
}

// loaded returns an entry as Load returns it: Load does not have to read its events.
func loaded(e host.Entry) host.Entry {
	e.Events = nil
	return e
}

func loadedAll(list []host.Entry) []host.Entry {
	var out []host.Entry
	for _, e := range list {
		out = append(out, loaded(e))
	}
	return out
}

func logOrder(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	want := []host.Entry{loaded(suite.AttemptOf(1, host.Workflow{}, suite.Instant(0), "").First)}
	for seq := int64(2); seq < 40; seq++ {
		suite.Must(t, s.Log.Append(ctx, a.ID, entry(seq, "n")))
		want = append(want, loaded(entry(seq, "n")))
	}
	if err := s.Log.Append(ctx, a.ID, entry(50, "n")); err == nil {
		t.Error("appended an entry after a gap, want an error")
	}
	l := suite.Got(s.Log.Load(ctx, a.ID))(t)
	if diff := cmp.Diff(want, loadedAll(l.Entries)); diff != "" || l.Snapshot != nil || l.At != 0 {
		t.Errorf("loaded log, snapshot at %d (-want +got):\n%s", l.At, diff)
	}
}

func logConflict(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	suite.Must(t, s.Log.Append(ctx, a.ID, entry(2, "mine")))
	suite.WantError(t, "the same entry again", s.Log.Append(ctx, a.ID, entry(2, "mine")), nil)
	suite.WantError(t, "an entry of another writer", s.Log.Append(ctx, a.ID, entry(2, "other")), host.ErrConflict)
	suite.Must(t, s.Log.Append(ctx, a.ID, entry(3, "mine")))
	suite.WantError(t, "the same entry, late", s.Log.Append(ctx, a.ID, entry(2, "mine")), nil)
	l := suite.Got(s.Log.Load(ctx, a.ID))(t)
	if diff := cmp.Diff([]host.Entry{loaded(entry(2, "mine")), loaded(entry(3, "mine"))}, loadedAll(l.Entries)[1:]); diff != "" {
		t.Errorf("loaded log (-want +got):\n%s", diff)
	}
}

func logWithoutAttempt(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	suite.WantError(t, "append", s.Log.Append(ctx, a.ID+1, entry(2, "n")), host.ErrNotFound)
	_, err := s.Log.Load(ctx, a.ID+1)
	suite.WantError(t, "load", err, host.ErrNotFound)
	_, err = s.Log.History(ctx, a.ID+1, 1, 10)
	suite.WantError(t, "history", err, host.ErrNotFound)
}

// withSnapshots creates a log of 9 entries with snapshots in entries 4 and 7.
func withSnapshots(t *testing.T, s suite.Stores) (host.Attempt, []host.Entry) {
	a := suite.Start(t, s)
	list := []host.Entry{suite.AttemptOf(1, host.Workflow{}, suite.Instant(0), "").First}
	for seq := int64(2); seq < 10; seq++ {
		e := entry(seq, "n")
		if seq == 4 || seq == 7 {
			e.Snapshot = fmt.Append(nil, "state ", seq)
		}
		suite.Must(t, s.Log.Append(t.Context(), a.ID, e))
		list = append(list, e)
	}
	return a, list
}

func logSnapshots(t *testing.T, s suite.Stores) {
	a, list := withSnapshots(t, s)
	l := suite.Got(s.Log.Load(t.Context(), a.ID))(t)
	if string(l.Snapshot) != "state 7" || l.At != 7 {
		t.Errorf("got snapshot %q of entry %d, want that of entry 7", l.Snapshot, l.At)
	}
	if diff := cmp.Diff(loadedAll(list[7:]), loadedAll(l.Entries)); diff != "" {
		t.Errorf("entries after the snapshot (-want +got):\n%s", diff)
	}
}

func logHistory(t *testing.T, s suite.Stores) {
	a, list := withSnapshots(t, s)
	for _, c := range []struct {
		first    int64
		n        int
		at       int64
		from, to int
	}{{1, 3, 0, 0, 3}, {4, 2, 0, 3, 5}, {5, 100, 4, 4, 9}, {8, 1, 7, 7, 8}, {9, 0, 7, 8, 8}, {100, 5, 7, 9, 9}} {
		l := suite.Got(s.Log.History(t.Context(), a.ID, c.first, c.n))(t)
		want := host.Stored{At: c.at, Entries: append([]host.Entry(nil), list[c.from:c.to]...)}
		if c.at > 0 {
			want.Snapshot = list[c.at-1].Snapshot
		}
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("%d entries from %d (-want +got):\n%s", c.n, c.first, diff)
		}
	}
}

func logLarge(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	e := entry(2, "n")
	e.Changes, e.Snapshot = bytes.Repeat([]byte("0123456789"), 40_000), bytes.Repeat([]byte("snap"), 300_000)
	suite.Must(t, s.Log.Append(ctx, a.ID, e))
	l := suite.Got(s.Log.History(ctx, a.ID, 2, 1))(t)
	if len(l.Entries) != 1 || !bytes.Equal(l.Entries[0].Changes, e.Changes) {
		t.Error("a large entry differs from what was appended")
	}
	if l := suite.Got(s.Log.Load(ctx, a.ID))(t); !bytes.Equal(l.Snapshot, e.Snapshot) {
		t.Error("a large snapshot differs from what was appended")
	}
}

// logRace lets writers race for every sequence number of one log. A writer whose append succeeded must be the only one,
// and its entry must be in the log; a writer that lost must find the winner's entry there.
func logRace(t *testing.T, s suite.Stores) {
	ctx, a := t.Context(), suite.Start(t, s)
	const writers, length = 6, 30
	var mu sync.Mutex
	winners := map[int64][]string{}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for seq := int64(2); seq <= length; {
				e := entry(seq, fmt.Sprint("writer ", w, " entry ", seq))
				err := s.Log.Append(ctx, a.ID, e)
				if err == nil {
					mu.Lock()
					winners[seq] = append(winners[seq], e.Nonce)
					mu.Unlock()
				} else if !errors.Is(err, host.ErrConflict) {
					t.Errorf("append: %v", err)
					return
				}
				last, err := lastSeq(ctx, s.Log, a.ID)
				if err != nil || last < seq {
					t.Errorf("after entry %d was decided, the log ends at %d (%v)", seq, last, err)
					return
				}
				seq = last + 1
			}
		})
	}
	all.Wait()
	l := suite.Got(s.Log.Load(ctx, a.ID))(t)
	for i, e := range l.Entries[1:] {
		if e.Seq != int64(i)+2 || len(winners[e.Seq]) != 1 || winners[e.Seq][0] != e.Nonce {
			t.Errorf("entry %d is by %q; successful writers: %q, want only that one", e.Seq, e.Nonce, winners[e.Seq])
		}
	}
}

func lastSeq(ctx context.Context, log host.Log, attempt int64) (int64, error) {
	l, err := log.Load(ctx, attempt)
	if err != nil || len(l.Entries) == 0 {
		return 0, err
	}
	return l.Entries[len(l.Entries)-1].Seq, nil
}
