package dynamo

import (
	"context"
	"sync"

	"zerodag/events"
	"zerodag/internal/dynamo/table"
)

// shortLog is the log of a run that is too short for a separate object.
type shortLog struct {
	name    string
	content []byte
}

// shortLogs holds logs that are written with the next entry of their attempt, because a separate write would cost as
// much as the task.
type shortLogs struct {
	mu sync.Mutex
	m  map[int64][]shortLog
}

// KeepShort keeps a log until this process appends the attempt's next entry, which is the entry with the task's result.
// A process that ends earlier has not stored the result either.
func (db *logs) KeepShort(attempt int64, name string, content []byte) {
	db.short.giveBack(attempt, []shortLog{{name, content}})
}

// TakeShort removes and returns the logs that are kept for an attempt, because another process will append them.
func (db *logs) TakeShort(attempt int64) []events.Log {
	var list []events.Log
	for _, l := range db.short.take(attempt) {
		list = append(list, events.Log{Name: l.name, Content: l.content})
	}
	return list
}

// maxShort is the maximum size of the logs in one entry.
const maxShort = 60 << 10

func (s *shortLogs) take(attempt int64) []shortLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, size := s.m[attempt], 0
	for i, l := range list {
		if size += len(l.name) + len(l.content); size > maxShort {
			s.m[attempt] = list[i:]
			return list[:i:i]
		}
	}
	delete(s.m, attempt)
	return list
}

func (s *shortLogs) giveBack(attempt int64, list []shortLog) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[int64][]shortLog{}
	}
	s.m[attempt] = append(list[:len(list):len(list)], s.m[attempt]...)
}

// recent holds the short logs of the attempt whose last entry this process read or wrote, if it has the logs of all
// entries: then ending the attempt reads only later entries instead of all.
type recent struct {
	mu      sync.Mutex
	attempt int64
	seq     int64 // the last known entry
	list    []shortLog
	size    int
}

// maxRecent is the maximum size that is kept in memory.
const maxRecent = 1 << 20

// begin sets an attempt's logs up to an entry.
func (r *recent) begin(attempt, seq int64, list []shortLog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempt, r.seq, r.list, r.size = attempt, seq, nil, 0
	r.take(list)
}

// next adds the logs of the next entry if all earlier ones are known.
func (r *recent) next(attempt, seq int64, list []shortLog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempt == attempt && r.seq == seq-1 {
		r.seq = seq
		r.take(list)
	}
}

// take adds logs; if they become too large, all logs are dropped. The lock is held.
func (r *recent) take(list []shortLog) {
	for _, l := range list {
		r.size += len(l.name) + len(l.content)
	}
	r.list = append(r.list, list...)
	if r.size > maxRecent {
		r.attempt, r.seq, r.list = 0, 0, nil
	}
}

// of returns the known part of an attempt: the logs of its entries up to seq.
func (r *recent) of(attempt int64) (list []shortLog, seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempt != attempt {
		return nil, 0
	}
	return r.list[:len(r.list):len(r.list)], r.seq
}

// EachShort calls f for an attempt's short logs: the logs in its entries while these exist, afterwards the logs in its
// row, and logs that are not in any entry yet.
func (db *logs) EachShort(ctx context.Context, attempt int64, f func(name string, content []byte)) error {
	it, err := db.t.Get(ctx, attemptKey(attempt))
	if err != nil || it == nil {
		return table.OrNotFound(err, "read short logs of attempt %d", attempt)
	}
	list, err := db.shortOf(ctx, it)
	if err != nil {
		return err
	}
	if list == nil {
		if list, err = db.shortFrom(ctx, attempt, 1); err != nil {
			return err
		}
	}
	db.short.mu.Lock()
	list = append(list[:len(list):len(list)], db.short.m[attempt]...)
	db.short.mu.Unlock()
	seen := map[string]bool{}
	for _, l := range list {
		if !seen[l.name] { // a message that was delivered twice may have brought the log twice
			f(l.name, l.content)
		}
		seen[l.name] = true
	}
	return nil
}

// shortOf returns the short logs in the row of an attempt that has ended; nil if it has none.
func (db *logs) shortOf(ctx context.Context, it table.Item) ([]shortLog, error) {
	b, err := db.t.Large(ctx, it, aShort, aShortBlob)
	if err != nil || b == nil {
		return nil, err
	}
	return splitShort(b)
}

// shortFrom returns the short logs of entry first and all later entries.
func (db *logs) shortFrom(ctx context.Context, attempt, first int64) ([]shortLog, error) {
	entries, err := db.t.Find(ctx, table.Query{Where: entries(attempt, first, maxSeq), Names: []string{aShort}})
	if err != nil {
		return nil, err
	}
	return shortOfEntries(entries)
}

func shortOfEntries(entries []table.Item) ([]shortLog, error) {
	var list []shortLog
	for _, it := range entries {
		if b := it.Bytes(aShort); b != nil {
			part, err := unpackShort(b)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
	}
	return list, nil
}
