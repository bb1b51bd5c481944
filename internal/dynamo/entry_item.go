package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"zerodag/internal/host"
)

// An entry of an attempt's log.
//
//	A#<attempt>   E#<seq>   entry from the second on; expires
//	A#<attempt>   R         the first one, in the row of the attempt: each name after firstPrefix
//
// An item of its own for the first one would cost two write units more, and it is small. A
// body of more than largestBody (largestFirst in a row) and a snapshot of more than largestSnapshot are blobs
// log/<attempt>/<hash>, put before the entry that names them.
const (
	entryPrefix = "E#"

	aNonce        = "n"
	aAt           = "t"
	aChanges      = "c"
	aEvents       = "e"
	aBody         = "b" // blob of changes and events
	aSnapshot     = "z"
	aSnapshotBlob = "zb"
	aSnapshotSeq  = "k" // entry of the newest snapshot, up to this one; none before the first
	aShort        = "l" // short logs of tasks
	aShortBlob    = "lb"
)

const (
	firstPrefix     = "1"
	largestFirst    = 4 << 10
	largestBody     = 300 << 10
	largestSnapshot = 8 << 10
	maxSeq          = 9_999_999_999
)

func entryKey(attempt, seq int64) key { return key{attemptKey(attempt).partition, entrySort(seq)} }

func entrySort(seq int64) string { return fmt.Sprintf("%s%010d", entryPrefix, seq) }

func seqOf(it item) int64 {
	var n int64
	fmt.Sscanf(it.str(aSort), entryPrefix+"%d", &n) //nolint:errcheck // the key is one that this package wrote
	return n
}

// entryItem makes the item; what is too large for it is stored first.
func (db *DB) entryItem(ctx context.Context, attempt int64, e host.Entry, snapshot int64) (item, error) {
	it, largest := entryKey(attempt, e.Seq).item(), largestBody
	if e.Seq == 1 {
		largest = largestFirst
	}
	it.setStr(aNonce, e.Nonce)
	it.setTime(aAt, e.At)
	it.setNum(aSnapshotSeq, snapshot)
	it[aExpiry] = number(db.expiry(attempt, e.At))
	changes, happened := pack(e.Changes), pack(e.Events)
	if len(changes)+len(happened) > largest {
		body := binary.AppendUvarint(nil, uint64(len(changes)))
		blob, err := db.putBlob(ctx, attempt, append(append(body, changes...), happened...))
		if err != nil {
			return nil, err
		}
		it[aBody] = text(blob)
	} else {
		if e.Changes != nil {
			it[aChanges] = binaryOf(changes)
		}
		if e.Events != nil {
			it[aEvents] = binaryOf(happened)
		}
	}
	if e.Snapshot == nil {
		return it, nil
	}
	it[aSnapshotSeq] = number(e.Seq)
	state := pack(e.Snapshot)
	if len(state) <= largestSnapshot {
		it[aSnapshot] = binaryOf(state)
		return it, nil
	}
	blob, err := db.putBlob(ctx, attempt, state)
	if err != nil {
		return nil, err
	}
	it[aSnapshotBlob] = text(blob)
	return it, nil
}

// firstAttributes are those of entry 1 as a row has them.
func firstAttributes(entry item) item {
	it := item{}
	for name, v := range entry {
		if name != aPartition && name != aSort {
			it[firstPrefix+name] = v
		}
	}
	return it
}

// firstOf is entry 1 of a row; nil when its attempt has not begun.
func firstOf(row item) item {
	if !row.has(firstPrefix + aExpiry) {
		return nil
	}
	it := item{aPartition: row[aPartition], aSort: text(entrySort(1))}
	for name, v := range row {
		if own, ok := strings.CutPrefix(name, firstPrefix); ok {
			it[own] = v
		}
	}
	return it
}

// putBlob stores a part under the attempt's own prefix, named by its content: two writers
// of one entry do not meet.
func (db *DB) putBlob(ctx context.Context, attempt int64, b []byte) (string, error) {
	return db.putNamed(ctx, fmt.Sprintf("log/%d/", attempt), b)
}

// putArchive stores a final state where it does not expire.
func (db *DB) putArchive(ctx context.Context, attempt int64, b []byte) (string, error) {
	return db.putNamed(ctx, statePrefix(attempt), b)
}

// statePrefix is of what stays as long as the row of an attempt.
func statePrefix(attempt int64) string { return fmt.Sprintf("state/%d/", attempt) }

func (db *DB) putNamed(ctx context.Context, prefix string, b []byte) (string, error) {
	sum := sha256.Sum256(b)
	blob := fmt.Sprintf("%s%x", prefix, sum[:16])
	if err := db.blobs.Put(ctx, blob, bytes.NewReader(b), int64(len(b))); err != nil {
		return "", fmt.Errorf("store %s: %w", blob, err)
	}
	return blob, nil
}

func (db *DB) entryOf(ctx context.Context, it item) (host.Entry, error) {
	e := host.Entry{Seq: seqOf(it), Nonce: it.str(aNonce), At: it.time(aAt)}
	changes, happened := it.bytes(aChanges), it.bytes(aEvents)
	if blob := it.str(aBody); blob != "" {
		body, err := db.readBlob(ctx, blob)
		if err != nil {
			return e, err
		}
		size, n := binary.Uvarint(body)
		if n <= 0 || uint64(len(body)-n) < size {
			return e, fmt.Errorf("read entry %d: %s is cut short", e.Seq, blob)
		}
		changes, happened = body[n:n+int(size)], body[n+int(size):]
	}
	var err error
	if e.Changes, err = unpack(changes); err != nil {
		return e, fmt.Errorf("read entry %d: %w", e.Seq, err)
	}
	if e.Events, err = unpack(happened); err != nil {
		return e, fmt.Errorf("read entry %d: %w", e.Seq, err)
	}
	return e, nil
}

// snapshotOf reads the snapshot of an entry; nil when it has none.
func (db *DB) snapshotOf(ctx context.Context, it item) ([]byte, error) {
	state := it.bytes(aSnapshot)
	if blob := it.str(aSnapshotBlob); blob != "" {
		var err error
		if state, err = db.readBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return unpack(state)
}
