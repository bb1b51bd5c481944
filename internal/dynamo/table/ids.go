package table

import (
	"sync"
	"time"
)

// epoch is the time from which ids count milliseconds.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

// RandomBits is the number of random bits at the low end of an id.
const RandomBits = 12

// ids creates time-sortable ids of 53 bits: milliseconds, then random bits. If two processes choose the same id, the
// conditional put that creates a row detects it; ids of one process ascend.
type ids struct {
	now func() time.Time

	mu   sync.Mutex
	last int64
	slot int64
}

// next returns the first of n consecutive ids.
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

// NextID returns the first of n consecutive ids.
func (t *Table) NextID(n int) int64 { return t.ids.next(n) }

// NextSlots returns the first id of n consecutive whole milliseconds, for callers that reserve many ids before they use
// them.
func (t *Table) NextSlots(n int64) int64 { return t.ids.slots(n) }

// madeAt returns when an id was created.
func madeAt(id int64) time.Time {
	return epoch.Add(time.Duration(id>>RandomBits) * time.Millisecond)
}

// IDAt returns the lowest id of objects that were created at or after a given time.
func IDAt(t time.Time) int64 {
	if t.Before(epoch) {
		return 0
	}
	return t.Sub(epoch).Milliseconds() << RandomBits
}
