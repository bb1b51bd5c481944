package hosttest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// poolsSuite checks a host.Pools.
func poolsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"store, list and delete": poolsKept, "pools in use cannot be deleted": poolsInUse}.Run(t, h)
}

// semaphoreSuite checks a host.Semaphore.
func semaphoreSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"slots are granted once": semaphoreTaken, "order of the line": semaphoreLine, "all slots or none": semaphoreAll, "concurrent claims": semaphoreRace, "slots of several pools": semaphoreSeveral,
		"long lines": semaphoreLong, "unknown pools": semaphoreMissing}.Run(t, h)
}

func ref(name string) host.PoolRef { return host.PoolRef{Site: 1, Name: name} }

func poolsKept(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	of := host.PoolRef{Site: 1, Project: 7, Name: "a"}
	a := suite.Got(s.Pools.SetPool(ctx, ref("a"), 5, suite.Instant(0)))(t)
	b := suite.Got(s.Pools.SetPool(ctx, of, 2, suite.Instant(1)))(t)
	suite.Got(s.Pools.SetPool(ctx, host.PoolRef{Site: 2, Name: "a"}, 9, suite.Instant(2)))(t)
	want := host.Pool{ID: a.ID, PoolRef: ref("a"), Slots: 5, CreatedAt: suite.Instant(0), UpdatedAt: suite.Instant(0)}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("a new pool (-want +got):\n%s", diff)
	}
	want.Slots, want.UpdatedAt = 6, suite.Instant(3)
	if diff := cmp.Diff(want, suite.Got(s.Pools.SetPool(ctx, ref("a"), 6, suite.Instant(3)))(t)); diff != "" {
		t.Errorf("a changed pool (-want +got):\n%s", diff)
	}
	want.Held, want.UpdatedAt = true, suite.Instant(4)
	if diff := cmp.Diff(want, suite.Got(s.Pools.HoldPool(ctx, ref("a"), true, suite.Instant(4)))(t)); diff != "" {
		t.Errorf("a held pool (-want +got):\n%s", diff)
	}
	want.Slots, want.UpdatedAt = 3, suite.Instant(5)
	if diff := cmp.Diff(want, suite.Got(s.Pools.SetPool(ctx, ref("a"), 3, suite.Instant(5)))(t)); diff != "" {
		t.Errorf("a changed held pool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, suite.Got(s.Pools.Pool(ctx, ref("a")))(t)); diff != "" {
		t.Errorf("a pool by name (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]host.Pool{want, b}, suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: 1}))(t)); diff != "" {
		t.Errorf("pools of a site (-want +got):\n%s", diff)
	}
	if list := suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: host.AnySite}))(t); len(list) != 3 {
		t.Errorf("got pools of all sites %v, want three", list)
	}
	first := suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: 1, Count: 1}))(t)
	if rest := suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: 1, After: first[0].ID, Count: 5}))(t); len(first) != 1 || len(rest) != 1 || rest[0].ID != b.ID {
		t.Errorf("got pages %v and %v", first, rest)
	}
	suite.Must(t, s.Pools.DeletePool(ctx, of))
	_, err := s.Pools.Pool(ctx, of)
	suite.WantError(t, "a deleted pool", err, host.ErrNotFound)
	suite.WantError(t, "delete again", s.Pools.DeletePool(ctx, of), host.ErrNotFound)
	_, err = s.Pools.HoldPool(ctx, of, true, suite.Instant(6))
	suite.WantError(t, "hold an unknown pool", err, host.ErrNotFound)
	if list := suite.Got(s.Pools.Pools(ctx, host.PoolQuery{Site: 1}))(t); len(list) != 1 {
		t.Errorf("got pools %v after the deletion, want one", list)
	}
}

func poolsInUse(t *testing.T, s suite.Stores) {
	ctx, c := t.Context(), claim("h", 1, 0, 1)
	suite.Got(s.Pools.SetPool(ctx, ref("a"), 1, suite.Instant(0)))(t)
	suite.Must(t, s.Semaphore.JoinLine(ctx, ref("a"), c))
	suite.WantError(t, "delete while a claim waits", s.Pools.DeletePool(ctx, ref("a")), host.ErrConflict)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, ref("a"), c, []int{0}, true, suite.Instant(1)))
	suite.WantError(t, "delete while a slot is taken", s.Pools.DeletePool(ctx, ref("a")), host.ErrConflict)
	suite.Must(t, s.Semaphore.FreeSlots(ctx, ref("a"), "h", []int{0}))
	suite.Must(t, s.Pools.DeletePool(ctx, ref("a")))
}

func claim(holder string, slots, priority int, since int64) host.Claim {
	return host.Claim{Holder: holder, Slots: slots, Priority: priority, Since: since}
}

// wantLine checks a pool's state.
func wantLine(t *testing.T, s suite.Stores, what string, pool host.PoolRef, want host.Line) {
	t.Helper()
	if diff := cmp.Diff(want, suite.Got(s.Semaphore.Line(t.Context(), pool, 0))(t)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func semaphoreTaken(t *testing.T, s suite.Stores) {
	ctx, pool := t.Context(), ref("a")
	suite.Got(s.Pools.SetPool(ctx, pool, 2, suite.Instant(0)))(t)
	wantLine(t, s, "a new pool", pool, host.Line{Slots: 2})
	one, two := claim("1/2/3", 1, 0, 1), claim("1/2/4", 1, 0, 2)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, pool, one, []int{1}, false, suite.Instant(1)))
	suite.WantError(t, "a taken slot", s.Semaphore.TakeSlots(ctx, pool, two, []int{1}, false, suite.Instant(2)), host.ErrConflict)
	suite.WantError(t, "a slot that the holder has", s.Semaphore.TakeSlots(ctx, pool, one, []int{1}, false, suite.Instant(2)), host.ErrConflict)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, pool, two, []int{0}, false, suite.Instant(3)))
	full := host.Line{Slots: 2, Taken: []host.TakenSlot{{Number: 0, Holder: "1/2/4", At: suite.Instant(3)}, {Number: 1, Holder: "1/2/3", At: suite.Instant(1)}}}
	wantLine(t, s, "a full pool", pool, full)
	suite.Must(t, s.Semaphore.FreeSlots(ctx, pool, "1/2/3", []int{0}))
	wantLine(t, s, "freeing the slot of another holder has no effect", pool, full)
	for range 2 {
		suite.Must(t, s.Semaphore.FreeSlots(ctx, pool, "1/2/3", []int{0, 1}))
	}
	full.Taken = full.Taken[:1]
	wantLine(t, s, "one is free", pool, full)
	suite.Got(s.Pools.HoldPool(ctx, pool, true, suite.Instant(4)))(t)
	full.Held = true
	wantLine(t, s, "a held pool", pool, full)
}

func semaphoreLine(t *testing.T, s suite.Stores) {
	ctx, pool := t.Context(), ref("a")
	suite.Got(s.Pools.SetPool(ctx, pool, 5, suite.Instant(0)))(t)
	late, early, high, low, same := claim("late", 1, 0, 2_000), claim("early", 2, 0, 1_999), claim("high", 1, 1, 3_000), claim("low", 3, -2, 1), claim("later", 1, 0, 2_000)
	for _, c := range []host.Claim{late, low, early, same, high, late} { // the last one is already in the line
		suite.Must(t, s.Semaphore.JoinLine(ctx, pool, c))
	}
	wantLine(t, s, "by priority, then by time, then by name", pool, host.Line{Slots: 5, Waiting: []host.Claim{high, early, late, same, low}})
	for range 2 {
		suite.Must(t, s.Semaphore.LeaveLine(ctx, pool, early))
	}
	suite.Must(t, s.Semaphore.TakeSlots(ctx, pool, late, []int{3}, true, suite.Instant(1)))
	wantLine(t, s, "a granted claim gives up its place in line", pool, host.Line{Slots: 5, Taken: []host.TakenSlot{{Number: 3, Holder: "late", At: suite.Instant(1)}}, Waiting: []host.Claim{high, same, low}})
	suite.WantError(t, "a taken slot", s.Semaphore.TakeSlots(ctx, pool, same, []int{3}, true, suite.Instant(2)), host.ErrConflict)
	wantLine(t, s, "a refused claim stays in the line", pool, host.Line{Slots: 5, Taken: []host.TakenSlot{{Number: 3, Holder: "late", At: suite.Instant(1)}}, Waiting: []host.Claim{high, same, low}})
}

// semaphoreSeveral lets one try take slots of several pools, wait in the line of another pool, and give up each
// separately.
func semaphoreSeveral(t *testing.T, s suite.Stores) {
	ctx, c := t.Context(), claim("1/2/3", 1, 0, 1)
	a, b := ref("a"), host.PoolRef{Site: 1, Project: 7, Name: "b"}
	for _, pool := range []host.PoolRef{a, b, {Site: 1, Name: "b"}} {
		suite.Got(s.Pools.SetPool(ctx, pool, 2, suite.Instant(0)))(t)
	}
	suite.Must(t, s.Semaphore.TakeSlots(ctx, a, c, []int{0}, false, suite.Instant(1)))
	suite.Must(t, s.Semaphore.JoinLine(ctx, b, claim("1/2/3", 2, 1, 5)))
	has := host.Line{Slots: 2, Taken: []host.TakenSlot{{Number: 0, Holder: "1/2/3", At: suite.Instant(1)}}}
	waits := host.Line{Slots: 2, Waiting: []host.Claim{claim("1/2/3", 2, 1, 5)}}
	wantLine(t, s, "holds a slot of one pool", a, has)
	wantLine(t, s, "waits for another pool", b, waits)
	suite.Must(t, s.Semaphore.FreeSlots(ctx, b, "1/2/3", []int{0, 1}))
	suite.Must(t, s.Semaphore.LeaveLine(ctx, a, c))
	wantLine(t, s, "still holds a slot of one pool", a, has)
	wantLine(t, s, "still waits for another pool", b, waits)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, b, claim("1/2/3", 2, 1, 5), []int{0, 1}, true, suite.Instant(2)))
	suite.Must(t, s.Semaphore.FreeSlots(ctx, a, "1/2/3", []int{0}))
	wantLine(t, s, "one is free", a, host.Line{Slots: 2})
	wantLine(t, s, "the other pool is full", b, host.Line{Slots: 2, Taken: []host.TakenSlot{{Number: 0, Holder: "1/2/3", At: suite.Instant(2)}, {Number: 1, Holder: "1/2/3", At: suite.Instant(2)}}})
	wantLine(t, s, "a pool of the site with the same name", host.PoolRef{Site: 1, Name: "b"}, host.Line{Slots: 2})
}

func semaphoreAll(t *testing.T, s suite.Stores) {
	ctx, pool := t.Context(), ref("a")
	suite.Got(s.Pools.SetPool(ctx, pool, 10, suite.Instant(0)))(t)
	big := claim("big", 3, 0, 1)
	suite.Must(t, s.Semaphore.JoinLine(ctx, pool, big))
	suite.Must(t, s.Semaphore.TakeSlots(ctx, pool, claim("small", 1, 0, 0), []int{4}, false, suite.Instant(1)))
	suite.WantError(t, "three slots of which one is taken", s.Semaphore.TakeSlots(ctx, pool, big, []int{9, 4, 0}, true, suite.Instant(2)), host.ErrConflict)
	wantLine(t, s, "nothing has changed", pool, host.Line{Slots: 10, Taken: []host.TakenSlot{{Number: 4, Holder: "small", At: suite.Instant(1)}}, Waiting: []host.Claim{big}})
	suite.Must(t, s.Semaphore.TakeSlots(ctx, pool, big, []int{9, 5, 0}, true, suite.Instant(3)))
	at := func(n int, holder string, seconds int64) host.TakenSlot {
		return host.TakenSlot{Number: n, Holder: holder, At: suite.Instant(seconds)}
	}
	wantLine(t, s, "holds three slots", pool, host.Line{Slots: 10, Taken: []host.TakenSlot{at(0, "big", 3), at(4, "small", 1), at(5, "big", 3), at(9, "big", 3)}})
	suite.Got(s.Pools.SetPool(ctx, pool, 2, suite.Instant(4)))(t)
	wantLine(t, s, "slots after a change of the pool", pool, host.Line{Slots: 2, Taken: []host.TakenSlot{at(0, "big", 3), at(4, "small", 1), at(5, "big", 3), at(9, "big", 3)}})
	suite.Must(t, s.Semaphore.FreeSlots(ctx, pool, "big", []int{0, 4, 5, 9}))
	wantLine(t, s, "freed only its own slots", pool, host.Line{Slots: 2, Taken: []host.TakenSlot{at(4, "small", 1)}})
}

// semaphoreRace lets many holders take overlapping slots at once: no slot is given twice, and no request is granted
// partially.
func semaphoreRace(t *testing.T, s suite.Stores) {
	ctx, pool := t.Context(), ref("a")
	suite.Got(s.Pools.SetPool(ctx, pool, 4, suite.Instant(0)))(t)
	won := make([]bool, 12)
	var all sync.WaitGroup
	for i := range won {
		all.Go(func() {
			c := claim(fmt.Sprint("h", i), 2, 0, int64(i))
			numbers := [][]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {2, 1}, {0, 3}}[i%6]
			for range 3 { // a response may be lost; the winner is read below
				if err := s.Semaphore.TakeSlots(ctx, pool, c, numbers, i%2 == 0, suite.Instant(1)); err == nil {
					won[i] = true
				}
			}
		})
	}
	all.Wait()
	held := map[string]int{}
	for _, slot := range suite.Got(s.Semaphore.Line(ctx, pool, 0))(t).Taken {
		held[slot.Holder]++
	}
	if len(held) == 0 {
		t.Error("no claim succeeded")
	}
	for i, ok := range won {
		if n := held[fmt.Sprint("h", i)]; ok && n != 2 || n == 1 {
			t.Errorf("claim %d of two slots: success is %v, but it holds %d", i, ok, n)
		}
	}
}

func semaphoreLong(t *testing.T, s suite.Stores) {
	ctx, pool := t.Context(), ref("a")
	suite.Got(s.Pools.SetPool(ctx, pool, 3, suite.Instant(0)))(t)
	const n = 130
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := s.Semaphore.JoinLine(ctx, pool, claim(fmt.Sprint(i), 1, 0, int64(n-i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for least, whole := range map[int]bool{0: false, 120: false, 500: true} {
		l := suite.Got(s.Semaphore.Line(ctx, pool, least))(t)
		if len(l.Waiting) < max(3, min(least, n)) || whole && len(l.Waiting) != n {
			t.Errorf("requested at least %d claims of the line, got %d", least, len(l.Waiting))
		}
		for i, c := range l.Waiting {
			if c.Holder != fmt.Sprint(n-1-i) {
				t.Fatalf("claim %d of the line: got %+v", i, c)
			}
		}
	}
}

func semaphoreMissing(t *testing.T, s suite.Stores) {
	ctx, pool, c := t.Context(), ref("a"), claim("h", 1, 0, 1)
	wantLine(t, s, "an unknown pool", pool, host.Line{})
	suite.Must(t, s.Semaphore.LeaveLine(ctx, pool, c))
	suite.Must(t, s.Semaphore.FreeSlots(ctx, pool, "h", []int{0}))
	suite.Must(t, s.Semaphore.JoinLine(ctx, pool, c))
	if l := suite.Got(s.Semaphore.Line(ctx, pool, 0))(t); l.Slots != 0 {
		t.Errorf("joining the line of an unknown pool created it: %+v", l)
	}
	suite.Must(t, s.Semaphore.LeaveLine(ctx, pool, c))
	suite.Got(s.Pools.SetPool(ctx, host.PoolRef{Site: 1, Project: 3, Name: "a"}, 1, suite.Instant(0)))(t)
	suite.Must(t, s.Semaphore.TakeSlots(ctx, host.PoolRef{Site: 1, Project: 3, Name: "a"}, c, []int{0}, false, suite.Instant(0)))
	wantLine(t, s, "a pool of the site with the same name", pool, host.Line{})
}
