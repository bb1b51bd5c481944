package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
)

// ShortLog is the log of a run that is too short for an object of its own.
type ShortLog struct {
	Name    string
	Content []byte
}

// shortLogs are those that the next entry of their attempt takes along: a write of its own
// would cost as much as the task.
type shortLogs struct {
	mu sync.Mutex
	m  map[int64][]ShortLog
}

// KeepShort keeps a log until the next entry of the attempt is appended by this process;
// the entry with the task's result is. A process that ends before has no result either.
func (db *DB) KeepShort(attempt int64, name string, content []byte) {
	db.short.giveBack(attempt, []ShortLog{{name, content}})
}

// maxShort is what one entry takes along.
const maxShort = 60 << 10

func (s *shortLogs) take(attempt int64) []ShortLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, size := s.m[attempt], 0
	for i, l := range list {
		if size += len(l.Name) + len(l.Content); size > maxShort {
			s.m[attempt] = list[i:]
			return list[:i:i]
		}
	}
	delete(s.m, attempt)
	return list
}

func (s *shortLogs) giveBack(attempt int64, list []ShortLog) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[int64][]ShortLog{}
	}
	s.m[attempt] = append(list[:len(list):len(list)], s.m[attempt]...)
}

// ShortLogs lists those of an attempt: of its entries while there are any, of its archive
// afterwards, and those that no entry has taken yet.
func (db *DB) ShortLogs(ctx context.Context, attempt int64) ([]ShortLog, error) {
	it, err := db.get(ctx, attemptKey(attempt))
	if err != nil || it == nil {
		return nil, orNotFound(err, "read short logs of attempt %d", attempt)
	}
	if b := it.bytes(aShort); b != nil {
		return decodeShort(b)
	}
	list, err := db.shortOfEntries(ctx, attempt)
	if err != nil {
		return nil, err
	}
	db.short.mu.Lock()
	defer db.short.mu.Unlock()
	return append(list, db.short.m[attempt]...), nil
}

func (db *DB) shortOfEntries(ctx context.Context, attempt int64) ([]ShortLog, error) {
	entries, err := db.find(ctx, query{where: entries(attempt, 1, maxSeq), names: []string{aShort}})
	if err != nil {
		return nil, err
	}
	var list []ShortLog
	for _, it := range entries {
		if b := it.bytes(aShort); b != nil {
			part, err := decodeShort(b)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
	}
	return list, nil
}

// encodeShort writes names and contents, each after its length; nil for none.
func encodeShort(list []ShortLog) []byte {
	var b []byte
	for _, l := range list {
		b = append(binary.AppendUvarint(b, uint64(len(l.Name))), l.Name...)
		b = append(binary.AppendUvarint(b, uint64(len(l.Content))), l.Content...)
	}
	return b
}

var errShort = errors.New("read short logs: cut short")

func decodeShort(b []byte) ([]ShortLog, error) {
	var list []ShortLog
	for len(b) > 0 {
		var l ShortLog
		for _, part := range []func([]byte){func(x []byte) { l.Name = string(x) }, func(x []byte) { l.Content = x }} {
			size, n := binary.Uvarint(b)
			if n <= 0 || uint64(len(b)-n) < size {
				return nil, errShort
			}
			part(b[n : n+int(size)])
			b = b[n+int(size):]
		}
		list = append(list, l)
	}
	return list, nil
}
