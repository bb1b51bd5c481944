package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// logs implements host.Log and host.ShortLogs: the entries of attempts, and the short logs of runs that are stored with
// entries.
type logs struct {
	t      *table.Table
	tails  tails
	recent recent
	short  shortLogs
}

// Append writes an entry: see host.Log. It needs one put if this process has read or written the previous entry;
// otherwise it reads that entry first.
func (db *logs) Append(ctx context.Context, attempt int64, e host.Entry) error {
	if e.Seq < 2 || e.Seq > maxSeq {
		return fmt.Errorf("append entry %d of attempt %d: invalid position", e.Seq, attempt)
	}
	before, err := db.tailBefore(ctx, attempt, e.Seq)
	if err != nil {
		return err
	}
	it, err := db.entryItem(ctx, attempt, e, before.snapshot)
	if err != nil {
		return err
	}
	short := db.short.take(attempt)
	it.SetBytes(aShort, packShort(short))
	there, err := db.t.Put(ctx, it, table.Absent())
	if errors.Is(err, table.ErrCondition) && there.Str(aNonce) == e.Nonce {
		err = nil // a response was lost: the entry is ours
	}
	if err != nil {
		db.short.giveBack(attempt, short)
	}
	switch {
	case errors.Is(err, table.ErrCondition) && db.t.Expired(there):
		return table.OrNotFound(nil, "append to the log of attempt %d, which has expired", attempt)
	case errors.Is(err, table.ErrCondition):
		return host.ErrConflict
	case err != nil:
		return err
	}
	db.tails.note(attempt, tail{e.Seq, it.Num(aSnapshotSeq)})
	db.recent.next(attempt, e.Seq, short)
	return nil
}

// tailBefore makes sure that the entry before seq exists, and returns which snapshot it refers to.
func (db *logs) tailBefore(ctx context.Context, attempt, seq int64) (tail, error) {
	if t, ok := db.tails.of(attempt); ok && t.seq >= seq-1 {
		return t, nil
	}
	if seq > 2 {
		it, err := db.t.Get(ctx, entryKey(attempt, seq-1))
		if err != nil {
			return tail{}, err
		}
		if it != nil && !db.t.Expired(it) {
			return tail{seq - 1, it.Num(aSnapshotSeq)}, nil
		}
	}
	first, err := db.firstEntry(ctx, attempt)
	if err != nil {
		return tail{}, err
	}
	if seq > 2 {
		return tail{}, fmt.Errorf("append entry %d of attempt %d: entry %d does not exist", seq, attempt, seq-1)
	}
	return tail{1, first.Num(aSnapshotSeq)}, nil
}

// firstEntry reads entry 1. An expired log counts as deleted, because parts of it may already be.
func (db *logs) firstEntry(ctx context.Context, attempt int64) (table.Item, error) {
	row, err := db.t.Get(ctx, attemptKey(attempt))
	first := firstOf(row)
	if err != nil || first == nil || db.t.Expired(first) {
		return nil, table.OrNotFound(err, "read log of attempt %d", attempt)
	}
	return first, nil
}

// entries returns the condition for the entries from first to last.
func entries(attempt, first, last int64) table.Where {
	return between(attempt, entrySort(first), entrySort(last))
}

func between(attempt int64, from, to string) table.Where {
	return table.Where{Text: "#p = :p AND #s BETWEEN :first AND :last", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(attemptKey(attempt).Partition), ":first": table.Text(from), ":last": table.Text(to)}}
}

// firstPage is the number of items that loading reads before it can determine how many it needs: the row, which sorts
// after all entries, and some entries. Between two snapshots there are at least 16 KB of log, or 60 small entries.
const firstPage = 12

// Load reads the entries that the newest state needs: see host.Log. It omits events.
func (db *logs) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	list, err := db.t.Find(ctx, table.Query{Where: between(attempt, entrySort(2), table.Row), Descending: true, Limit: firstPage})
	if err != nil || len(list) == 0 || list[0].Str(table.Sort) != table.Row {
		return host.Stored{}, table.OrNotFound(err, "load attempt %d", attempt)
	}
	first, list := firstOf(list[0]), list[1:]
	if first == nil || db.t.Expired(first) {
		return host.Stored{}, table.OrNotFound(nil, "load attempt %d", attempt)
	}
	newest := first
	if len(list) > 0 {
		newest = list[0]
		begin := max(newest.Num(aSnapshotSeq), 2)
		if lowest := seqOf(list[len(list)-1]); lowest > begin {
			rest, err := db.t.Find(ctx, table.Query{Where: entries(attempt, begin, lowest-1), Descending: true})
			if err != nil {
				return host.Stored{}, err
			}
			list = append(list, rest...)
		}
	}
	at := newest.Num(aSnapshotSeq)
	list = append(list, first)
	slices.Reverse(list)
	if len(list) == 1 || seqOf(list[1]) == 2 { // the page contains all entries
		short, err := shortOfEntries(list)
		if err != nil {
			return host.Stored{}, err
		}
		db.recent.begin(attempt, seqOf(newest), short)
	}
	stored, err := db.stored(ctx, list, at)
	if err != nil {
		return host.Stored{}, err
	}
	if want := seqOf(newest) - at; int64(len(stored.Entries)) != want {
		return host.Stored{}, fmt.Errorf("load attempt %d: %d entries after its snapshot instead of %d", attempt, len(stored.Entries), want)
	}
	db.tails.note(attempt, tail{seqOf(newest), at})
	return stored, nil
}

// stored returns the snapshot of entry at and the entries after it; at is 0 if there is no snapshot.
func (db *logs) stored(ctx context.Context, list []table.Item, at int64) (host.Stored, error) {
	s := host.Stored{At: at}
	for _, it := range list {
		switch n := seqOf(it); {
		case n < at:
		case n == at:
			state, err := db.snapshotOf(ctx, it)
			if err != nil {
				return s, err
			}
			s.Snapshot = state
		default:
			e, err := db.entryOf(ctx, it)
			if err != nil {
				return s, err
			}
			e.Events = nil
			s.Entries = append(s.Entries, e)
		}
	}
	return s, nil
}

// History reads a part of a log: see host.Log.
func (db *logs) History(ctx context.Context, attempt int64, first int64, n int) (host.Stored, error) {
	first = min(max(first, 1), maxSeq)
	var s host.Stored
	before, err := db.entryBefore(ctx, attempt, max(first, 2))
	if err != nil {
		return s, err
	}
	var list []table.Item
	if first == 1 {
		list = append(list, before)
	} else if s.Snapshot, s.At, err = db.snapshotBefore(ctx, attempt, before); err != nil {
		return s, err
	}
	if len(list) < n {
		rest, err := db.t.Find(ctx, table.Query{Where: entries(attempt, max(first, 2), maxSeq), Limit: n - len(list)})
		if err != nil {
			return s, err
		}
		list = append(list, rest...)
	}
	for _, it := range list[:min(len(list), max(n, 0))] {
		e, err := db.entryOf(ctx, it)
		if err != nil {
			return s, err
		}
		if e.Snapshot, err = db.snapshotOf(ctx, it); err != nil {
			return s, err
		}
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}

// entryBefore reads the newest entry before a number.
func (db *logs) entryBefore(ctx context.Context, attempt, seq int64) (table.Item, error) {
	if seq > 2 {
		list, err := db.t.Find(ctx, table.Query{Where: entries(attempt, 2, seq-1), Descending: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && !db.t.Expired(list[0]) {
			return list[0], nil
		}
	}
	return db.firstEntry(ctx, attempt)
}

// snapshotBefore reads the snapshot that an entry refers to.
func (db *logs) snapshotBefore(ctx context.Context, attempt int64, it table.Item) ([]byte, int64, error) {
	at := it.Num(aSnapshotSeq)
	if at == 0 {
		return nil, 0, nil
	}
	if at != seqOf(it) {
		var err error
		if at == 1 {
			it, err = db.firstEntry(ctx, attempt)
		} else {
			it, err = db.t.Get(ctx, entryKey(attempt, at))
		}
		if err != nil || it == nil {
			return nil, 0, table.OrNotFound(err, "read snapshot %d of attempt %d", at, attempt)
		}
	}
	state, err := db.snapshotOf(ctx, it)
	return state, at, err
}

// tail is an entry that is known to exist, and the snapshot that it refers to.
type tail struct{ seq, snapshot int64 }

// tails remembers where logs ended when this process last saw them. Entries are never deleted while their attempt is
// unfinished, so a remembered entry still exists. A missing one proves nothing.
type tails struct {
	mu sync.Mutex
	m  map[int64]tail
}

// maxTails limits the memory; a forgotten tail costs one read.
const maxTails = 10_000

func (t *tails) of(attempt int64) (tail, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x, ok := t.m[attempt]
	return x, ok
}

func (t *tails) note(attempt int64, x tail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil || len(t.m) >= maxTails {
		t.m = map[int64]tail{}
	}
	if t.m[attempt].seq < x.seq {
		t.m[attempt] = x
	}
}
