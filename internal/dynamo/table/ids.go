package table

import (
	"sync"
	"time"
)

// epoch is where ids begin to count milliseconds.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

// RandomBits are the low bits of an id.
const RandomBits = 12

// ids makes time-sortable ids of 53 bits: milliseconds, then random bits. The conditional
// put that makes a row finds out when two processes had the same idea; ids of one process
// ascend.
type ids struct {
	now func() time.Time

	mu   sync.Mutex
	last int64
	slot int64
}

// next returns the first of n ids in a row.
func (x *ids) next(n int) int64 {
	id := x.now().Sub(epoch).Milliseconds()<<RandomBits | randomInt(1<<RandomBits)
	x.mu.Lock()
	defer x.mu.Unlock()
	id = max(id, x.last+1)
	x.last = id + int64(n) - 1
	return id
}

func (x *ids) slots(n int64) int64 {
	now := x.now().Sub(epoch).Milliseconds()
	x.mu.Lock()
	defer x.mu.Unlock()
	first := max(now, x.slot)
	x.slot = first + n
	return first << RandomBits
}

// NextID returns the first of n ids in a row.
func (t *Table) NextID(n int) int64 { return t.ids.next(n) }

// NextSlots returns the first id of n whole milliseconds in a row, for callers that reserve many ids before they use
// them.
func (t *Table) NextSlots(n int64) int64 { return t.ids.slots(n) }

// madeAt is when an id was made.
func madeAt(id int64) time.Time {
	return epoch.Add(time.Duration(id>>RandomBits) * time.Millisecond)
}

// IDAt is the lowest id of objects made from a time on.
func IDAt(t time.Time) int64 {
	if t.Before(epoch) {
		return 0
	}
	return t.Sub(epoch).Milliseconds() << RandomBits
}
