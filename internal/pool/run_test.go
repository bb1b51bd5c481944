package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/faults"
	"zerodag/internal/pool"
	"zerodag/internal/sqlite"
)

// shop is a pool with tasks that need its slots, on a store that fails, with workers that crash.
type shop struct {
	t      *testing.T
	ref    host.PoolRef
	faults *faults.Faults
	store  *sqlite.DB

	mu      sync.Mutex
	running int // slots in use
	most    int
	woken   map[string]chan struct{}
}

func (s *shop) wake(_ context.Context, _ host.PoolRef, claims []host.Claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		select {
		case s.woken[c.Holder] <- struct{}{}:
		default: // it was already woken, and has not begun yet
		}
	}
	return nil
}

// do runs a turn, with another process after each crash, until it succeeds.
func (s *shop) do(turn func(again bool) pool.Turn) pool.Outcome {
	for again := false; ; again = true {
		w := pool.Runner{Semaphore: s.faults.Process().Semaphore(s.store), Wake: s.wake, Now: time.Now}
		o, err := w.Run(s.t.Context(), s.ref, turn(again))
		if err == nil {
			return o
		}
		if !errors.Is(err, host.ErrUnavailable) && !errors.Is(err, faults.ErrCrashed) {
			s.t.Error(err)
			return o
		}
	}
}

func acquire(c host.Claim) func(again bool) pool.Turn {
	return func(again bool) pool.Turn { return pool.Acquire(c, again) }
}

func release(c host.Claim) func(again bool) pool.Turn {
	return func(bool) pool.Turn { return pool.Release(c, false) }
}

// task runs one attempt at a task: it gets its slots, uses them for a while, and gives them up.
func (s *shop) task(c host.Claim) {
	for s.do(acquire(c)) != pool.Granted {
		<-s.woken[c.Holder]
	}
	s.use(c.Slots)
	time.Sleep(time.Second) // of the simulated clock
	s.use(-c.Slots)
	s.do(release(c))
}

func (s *shop) use(slots int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += slots
	s.most = max(s.most, s.running)
}

// TestRun proves that if sixty tasks of one to three slots share a pool of four, while one call in five fails, takes
// effect without a response, or ends its worker, all of them run, never more at once than fit, and the pool is empty at
// the end.
func TestRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runShop(t, seed) })
		})
	}
}

func runShop(t *testing.T, seed uint64) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := &shop{t: t, ref: host.PoolRef{Site: 1, Name: "warehouse"}, store: db, woken: map[string]chan struct{}{},
		faults: faults.New(seed, faults.Rates{Delay: .3, MaxDelay: time.Second, Refuse: .05, LoseAnswer: .05, CrashBefore: .05, CrashAfter: .05})}
	if _, err := db.SetPool(t.Context(), s.ref, 4, time.Now()); err != nil {
		t.Fatal(err)
	}
	var claims []host.Claim
	for i := range 60 {
		c := host.Claim{Holder: fmt.Sprint(i), Slots: 1 + i%3, Priority: i % 2, Since: int64(i)}
		claims, s.woken[c.Holder] = append(claims, c), make(chan struct{}, 1)
	}
	var all sync.WaitGroup
	for _, c := range claims {
		all.Go(func() { s.task(c) })
	}
	all.Wait()
	if s.most > 4 || s.most < 3 {
		t.Errorf("at most %d slots were in use at once, want 3 or 4", s.most)
	}
	l, err := db.Line(t.Context(), s.ref, 0)
	if err != nil || len(l.Taken)+len(l.Waiting) > 0 {
		t.Errorf("left at the end: %+v, %v", l, err)
	}
}

// TestRunLists proves that if fifty tasks take slots of one to three pools each, one pool after the other in the order
// of their names, on a store that fails, all of them run, no more at once than each pool allows, and the pools are
// empty at the end. synctest would find a deadlock.
func TestRunLists(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runLists(t, seed) })
		})
	}
}

func runLists(t *testing.T, seed uint64) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	faults := faults.New(seed, faults.Rates{Delay: .3, MaxDelay: time.Second, Refuse: .05, LoseAnswer: .05, CrashBefore: .05, CrashAfter: .05})
	var shops []*shop
	for i, name := range []string{"api", "db", "gpu"} {
		s := &shop{t: t, ref: host.PoolRef{Site: 1, Name: name}, store: db, woken: map[string]chan struct{}{}, faults: faults}
		if _, err := db.SetPool(t.Context(), s.ref, 1+i, time.Now()); err != nil {
			t.Fatal(err)
		}
		shops = append(shops, s)
	}
	const tasks = 50
	for i := range tasks {
		for _, s := range shops {
			s.woken[fmt.Sprint(i)] = make(chan struct{}, 1)
		}
	}
	var all sync.WaitGroup
	for i := range tasks {
		c := host.Claim{Holder: fmt.Sprint(i), Slots: 1, Priority: i % 2, Since: int64(i)}
		var mine []*shop
		for k, s := range shops {
			if which := 1 + i%7; which&(1<<k) != 0 { // every choice of the three
				mine = append(mine, s)
			}
		}
		all.Go(func() {
			for _, s := range mine {
				for s.do(acquire(c)) != pool.Granted {
					<-s.woken[c.Holder]
				}
				s.use(1)
			}
			time.Sleep(10 * time.Minute) // simulated: longer than any failure delays tasks that can run
			for _, s := range mine {
				s.use(-1)
				s.do(release(c))
			}
		})
	}
	all.Wait()
	for i, s := range shops {
		l, err := db.Line(t.Context(), s.ref, 0)
		if s.most != 1+i || err != nil || len(l.Taken)+len(l.Waiting) > 0 {
			t.Errorf("of pool %s at most %d slots were in use at once, and left at the end: %+v, %v", s.ref.Name, s.most, l, err)
		}
	}
}

// TestHeld proves that a held pool grants nothing, and that Stir wakes the claims that fit once it is released.
func TestHeld(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ref := host.PoolRef{Site: 1, Name: "warehouse"}
	var woken []string
	w := pool.Runner{Semaphore: db, Now: time.Now, Wake: func(_ context.Context, _ host.PoolRef, claims []host.Claim) error {
		for _, c := range claims {
			woken = append(woken, c.Holder)
		}
		return nil
	}}
	run := func(turn pool.Turn, want pool.Outcome) {
		t.Helper()
		if o, err := w.Run(ctx, ref, turn); o != want || err != nil {
			t.Errorf("outcome %v, %v, want %v", o, err, want)
		}
	}
	hold := func(held bool) {
		t.Helper()
		if _, err := db.HoldPool(ctx, ref, held, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := w.Stir(ctx, ref); err != nil {
			t.Fatal(err)
		}
	}
	one, two, three := host.Claim{Holder: "one", Slots: 1, Since: 1}, host.Claim{Holder: "two", Slots: 2, Since: 2}, host.Claim{Holder: "three", Slots: 3, Since: 3}
	run(pool.Acquire(one, false), pool.Missing)
	if _, err := db.SetPool(ctx, ref, 2, time.Now()); err != nil {
		t.Fatal(err)
	}
	run(pool.Acquire(three, false), pool.TooLarge)
	hold(true)
	run(pool.Acquire(two, false), pool.Joined)
	run(pool.Acquire(one, false), pool.Joined)
	if len(woken) > 0 {
		t.Errorf("%v were woken while the pool was held", woken)
	}
	hold(false)
	if fmt.Sprint(woken) != "[one]" {
		t.Errorf("%v were woken", woken)
	}
	run(pool.Acquire(two, false), pool.Waiting) // one is before it
	run(pool.Acquire(one, false), pool.Granted)
	if run(pool.Tidy(one, false), pool.Granted); fmt.Sprint(woken) != "[one]" {
		t.Errorf("%v were woken by turns that change nothing", woken)
	}
	woken = nil
	run(pool.Release(one, false), pool.Released)
	if fmt.Sprint(woken) != "[two]" {
		t.Errorf("%v were woken", woken)
	}
	run(pool.Acquire(two, false), pool.Granted)
	run(pool.Release(two, true), pool.Released)
}
