package dynamo

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// An entry in an attempt's log.
//
//	A#<attempt>   E#<seq>   entry from the second on; expires
//	A#<attempt>   R         the first one, in the row of the attempt: each name after firstPrefix
//
// A separate item for the first entry, which is small, would cost two more write units. A body larger than largestBody
// (largestFirst in a row) and a snapshot larger than largestSnapshot are blobs log/<attempt>/<hash>, written before the
// entry that refers to them.
const (
	entryPrefix = "E#"

	aNonce        = "n"
	aAt           = "t"
	aChanges      = "c"
	aEvents       = "e"
	aBody         = "b" // key of the blob with changes and events
	aSnapshot     = "z"
	aSnapshotBlob = "zb"
	aSnapshotSeq  = "k" // number of the last entry up to this one with a snapshot; absent before the first
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

func entryKey(attempt, seq int64) table.Key {
	return table.At(attemptKey(attempt).Partition, entrySort(seq))
}

func entrySort(seq int64) string { return fmt.Sprintf("%s%010d", entryPrefix, seq) }

func seqOf(it table.Item) int64 {
	var n int64
	fmt.Sscanf(it.Str(table.Sort), entryPrefix+"%d", &n) //nolint:errcheck // this package wrote the key
	return n
}

// entryItem returns an entry's item; it first stores parts that are too large for the item.
func (db *logs) entryItem(ctx context.Context, attempt int64, e host.Entry, snapshot int64) (table.Item, error) {
	it, largest := entryKey(attempt, e.Seq).Item(), largestBody
	if e.Seq == 1 {
		largest = largestFirst
	}
	it.SetStr(aNonce, e.Nonce)
	it.SetTime(aAt, e.At)
	it.SetNum(aSnapshotSeq, snapshot)
	it[table.Expiry] = table.Number(db.t.Expiry(attempt, e.At))
	changes, happened := table.Pack(e.Changes), table.Pack(e.Events)
	if len(changes)+len(happened) > largest {
		body := binary.AppendUvarint(nil, uint64(len(changes)))
		blob, err := db.t.PutBlob(ctx, attempt, append(append(body, changes...), happened...))
		if err != nil {
			return nil, err
		}
		it[aBody] = table.Text(blob)
	} else {
		if e.Changes != nil {
			it[aChanges] = table.Bytes(changes)
		}
		if e.Events != nil {
			it[aEvents] = table.Bytes(happened)
		}
	}
	if e.Snapshot == nil {
		return it, nil
	}
	it[aSnapshotSeq] = table.Number(e.Seq)
	state := table.Pack(e.Snapshot)
	if len(state) <= largestSnapshot {
		it[aSnapshot] = table.Bytes(state)
		return it, nil
	}
	blob, err := db.t.PutBlob(ctx, attempt, state)
	if err != nil {
		return nil, err
	}
	it[aSnapshotBlob] = table.Text(blob)
	return it, nil
}

// firstAttributes returns the attributes of entry 1 with their names in a row.
func firstAttributes(entry table.Item) table.Item {
	it := table.Item{}
	for name, v := range entry {
		if name != table.Partition && name != table.Sort {
			it[firstPrefix+name] = v
		}
	}
	return it
}

// firstOf returns entry 1 from a row; nil if its attempt has not begun.
func firstOf(row table.Item) table.Item {
	if !row.Has(firstPrefix + table.Expiry) {
		return nil
	}
	it := table.Item{table.Partition: row[table.Partition], table.Sort: table.Text(entrySort(1))}
	for name, v := range row {
		if own, ok := strings.CutPrefix(name, firstPrefix); ok {
			it[own] = v
		}
	}
	return it
}

func (db *logs) entryOf(ctx context.Context, it table.Item) (host.Entry, error) {
	e := host.Entry{Seq: seqOf(it), Nonce: it.Str(aNonce), At: it.Time(aAt)}
	changes, happened := it.Bytes(aChanges), it.Bytes(aEvents)
	if blob := it.Str(aBody); blob != "" {
		body, err := db.t.ReadBlob(ctx, blob)
		if err != nil {
			return e, err
		}
		size, n := binary.Uvarint(body)
		if n <= 0 || uint64(len(body)-n) < size {
			return e, fmt.Errorf("read entry %d: %s is truncated", e.Seq, blob)
		}
		changes, happened = body[n:n+int(size)], body[n+int(size):]
	}
	var err error
	if e.Changes, err = table.Unpack(changes); err != nil {
		return e, fmt.Errorf("read entry %d: %w", e.Seq, err)
	}
	if e.Events, err = table.Unpack(happened); err != nil {
		return e, fmt.Errorf("read entry %d: %w", e.Seq, err)
	}
	return e, nil
}

// snapshotOf reads an entry's snapshot; nil if it has none.
func (db *logs) snapshotOf(ctx context.Context, it table.Item) ([]byte, error) {
	state := it.Bytes(aSnapshot)
	if blob := it.Str(aSnapshotBlob); blob != "" {
		var err error
		if state, err = db.t.ReadBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return table.Unpack(state)
}
