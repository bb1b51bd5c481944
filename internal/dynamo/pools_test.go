package dynamo_test

import (
	"fmt"
	"testing"

	"zerodag/internal/host"
)

// TestRequestsOfPools checks the cost of pools: one write unit to take a slot of a free pool and one to free it, and
// six more for a task that must wait.
func TestRequestsOfPools(t *testing.T) {
	t.Parallel()
	db, _, _, b := started(t)
	ctx, ref := t.Context(), host.PoolRef{Site: 1, Name: "warehouse"}
	line := func(what string, reads float64) {
		t.Helper()
		_, err := db.Line(ctx, ref, 0)
		b.is(what, "Query 1", reads, 0, err)
	}
	_, err := db.SetPool(ctx, ref, 5, instant(0))
	b.is("set a pool", "UpdateItem 1", 0, 3, err)
	line("read a free pool", 1)
	claim := host.Claim{Holder: "1234567890123456/12/3", Slots: 1, Since: 1_700_000_000_000}
	b.is("take a slot", "PutItem 1", 0, 1, db.TakeSlots(ctx, ref, claim, []int{0}, false, instant(1)))
	b.is("free it", "DeleteItem 1", 0, 1, db.FreeSlots(ctx, ref, claim.Holder, []int{0}))
	b.is("wait", "PutItem 1", 0, 1, db.JoinLine(ctx, ref, claim))
	b.is("take a slot after that", "TransactWriteItems 1", 0, 4, db.TakeSlots(ctx, ref, claim, []int{1}, true, instant(1)))
	b.is("free it", "DeleteItem 1", 0, 1, db.FreeSlots(ctx, ref, claim.Holder, []int{1}))
	b.is("take three slots", "TransactWriteItems 1", 0, 6, db.TakeSlots(ctx, ref, claim, []int{1, 2, 3}, false, instant(1)))
	for i := range 300 {
		if err := db.JoinLine(ctx, ref, host.Claim{Holder: fmt.Sprint("1234567890123456/13/", i), Slots: 1, Since: 1_700_000_000_000}); err != nil {
			t.Fatal(err)
		}
	}
	b.count.Take()
	line("read a pool with a long line", 3)
}
