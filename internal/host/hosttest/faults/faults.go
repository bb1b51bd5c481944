package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"zerodag/internal/host"
)

// ErrCrashed is the error of every call once the process has crashed.
var ErrCrashed = errors.New("the process has crashed")

// Rates holds the probability of each fault: 0 means never, 1 every time.
type Rates struct {
	Refuse      float64 // the store refuses before it does anything (throttled)
	LoseAnswer  float64 // the store carries out the call, but the response is an error
	Delay       float64 // the call takes up to MaxDelay longer, before or after it is carried out
	Conflict    float64 // an append returns a conflict although no other writer was first
	Drop        float64 // a received message is invisible until its lease ends
	Duplicate   float64 // a received message is received once more, under the same lease
	Reorder     float64 // a received message without a group comes later
	CrashBefore float64 // the process ends before the call
	CrashAfter  float64 // the process ends after the call
	MaxDelay    time.Duration
}

// Faults makes drivers fail in a way that depends on the seed and the call, but not on the order in which goroutines
// run: the nth append of entry 3 of attempt 5 has the same fate in every run.
type Faults struct {
	seed  uint64
	rates Rates

	mu    sync.Mutex
	calls map[string]int // how many times each call was made
	done  map[string]int // faults by kind
}

// New creates Faults.
func New(seed uint64, rates Rates) *Faults {
	return &Faults{seed: seed, rates: rates, calls: map[string]int{}, done: map[string]int{}}
}

// Injected returns how many times each fault occurred, by field name in Rates.
func (f *Faults) Injected() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int{}
	for kind, n := range f.done {
		out[kind] = n
	}
	return out
}

// Heal stops all faults, so that work under way can finish.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rates = Rates{}
}

// fate decides the outcome of one call.
type fate struct {
	f      *Faults
	random *rand.Rand
	rates  Rates
}

func (f *Faults) of(call string) *fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	h := fnv.New64a()
	fmt.Fprint(h, call, "#", f.calls[call])
	return &fate{f, rand.New(rand.NewPCG(f.seed, h.Sum64())), f.rates} // #nosec G404 -- a seed decides, so that a run can be repeated
}

// hit reports whether a fault occurs, and counts it.
func (x *fate) hit(kind string, rate float64) bool {
	if x.random.Float64() >= rate {
		return false
	}
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	x.f.done[kind]++
	return true
}

func (x *fate) delay(ctx context.Context) {
	if !x.hit("Delay", x.rates.Delay) || x.rates.MaxDelay <= 0 {
		return
	}
	wait := time.NewTimer(time.Duration(x.random.Int64N(int64(x.rates.MaxDelay))))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// Process is one life of the process that uses the stores: it ends with a crash. A new Process for the same stores is
// the restart.
type Process struct {
	faults *Faults
	once   sync.Once
	dead   chan struct{}
}

// Process begins the life of a process.
func (f *Faults) Process() *Process { return &Process{faults: f, dead: make(chan struct{})} }

// Crashed returns a channel that the crash closes.
func (p *Process) Crashed() <-chan struct{} { return p.dead }

// Crash ends the process now: every later call returns ErrCrashed.
func (p *Process) Crash() { p.once.Do(func() { close(p.dead) }) }

func (p *Process) crashed() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// call makes a call to a store unless a fault occurs.
func (p *Process) call(ctx context.Context, name string, do func() error) error {
	if p.crashed() {
		return ErrCrashed
	}
	x := p.faults.of(name)
	x.delay(ctx)
	switch {
	case p.crashed():
		return ErrCrashed
	case x.hit("CrashBefore", x.rates.CrashBefore):
		p.Crash()
		return ErrCrashed
	case x.hit("Refuse", x.rates.Refuse):
		return fmt.Errorf("%s: injected refusal: %w", name, host.ErrUnavailable)
	}
	err := do()
	if err == nil && x.hit("CrashAfter", x.rates.CrashAfter) {
		p.Crash()
	}
	x.delay(ctx)
	switch {
	case p.crashed():
		return ErrCrashed
	case err == nil && x.hit("LoseAnswer", x.rates.LoseAnswer):
		return fmt.Errorf("%s: injected loss of the response: %w", name, host.ErrUnavailable)
	}
	return err
}

// Log wraps a log.
func (p *Process) Log(l host.Log) host.Log { return faultyLog{l, p} }

type faultyLog struct {
	host.Log
	p *Process
}

// Append may also report a conflict although there is none.
func (l faultyLog) Append(ctx context.Context, attempt int64, e host.Entry) error {
	name := fmt.Sprintf("append entry %d of attempt %d", e.Seq, attempt)
	return l.p.call(ctx, name, func() error {
		if x := l.p.faults.of("conflict: " + name); x.hit("Conflict", x.rates.Conflict) {
			return host.ErrConflict
		}
		return l.Log.Append(ctx, attempt, e)
	})
}

// Load may fail.
func (l faultyLog) Load(ctx context.Context, attempt int64) (s host.Stored, err error) {
	err = l.p.call(ctx, fmt.Sprintf("load attempt %d", attempt), func() (err error) {
		s, err = l.Log.Load(ctx, attempt)
		return err
	})
	return s, err
}

// Attempts wraps attempts.
func (p *Process) Attempts(a host.Attempts) host.Attempts { return faultyAttempts{a, p} }

type faultyAttempts struct {
	host.Attempts
	p *Process
}

// Start may return an error although it took effect.
func (a faultyAttempts) Start(ctx context.Context, list ...host.NewAttempt) (made []host.Attempt, err error) {
	name := "start nothing"
	if len(list) > 0 {
		name = fmt.Sprintf("start %s %v %q", list[0].Workflow.Name, list[0].SessionTime, list[0].RetryName)
	}
	err = a.p.call(ctx, name, func() (err error) {
		made, err = a.Attempts.Start(ctx, list...)
		return err
	})
	return made, err
}

// Import may return an error although it took effect.
func (a faultyAttempts) Import(ctx context.Context, list ...host.PastAttempt) (added int, err error) {
	err = a.p.call(ctx, fmt.Sprintf("import %d attempts", len(list)), func() (err error) {
		added, err = a.Attempts.Import(ctx, list...)
		return err
	})
	return added, err
}

// Begin may return an error although it took effect.
func (a faultyAttempts) Begin(ctx context.Context, attempt int64, first host.Entry, m host.Message) error {
	return a.p.call(ctx, fmt.Sprintf("begin attempt %d", attempt), func() error { return a.Attempts.Begin(ctx, attempt, first, m) })
}

// Attempt may fail.
func (a faultyAttempts) Attempt(ctx context.Context, site, id int64) (row host.Attempt, err error) {
	err = a.p.call(ctx, fmt.Sprintf("read attempt %d", id), func() (err error) {
		row, err = a.Attempts.Attempt(ctx, site, id)
		return err
	})
	return row, err
}

// Cancel may fail.
func (a faultyAttempts) Cancel(ctx context.Context, id int64) error {
	return a.p.call(ctx, fmt.Sprintf("cancel attempt %d", id), func() error { return a.Attempts.Cancel(ctx, id) })
}

// SetPaused may fail.
func (a faultyAttempts) SetPaused(ctx context.Context, id int64, paused bool) error {
	return a.p.call(ctx, fmt.Sprintf("pause attempt %d", id), func() error { return a.Attempts.SetPaused(ctx, id, paused) })
}

// Finish may return an error although it took effect.
func (a faultyAttempts) Finish(ctx context.Context, id int64, e host.End) error {
	return a.p.call(ctx, fmt.Sprintf("finish attempt %d", id), func() error { return a.Attempts.Finish(ctx, id, e) })
}

// Schedules wraps schedules.
func (p *Process) Schedules(s host.Schedules) host.Schedules { return faultySchedules{s, p} }

// schedules embeds the port under a name that differs from the names of its methods.
type schedules interface{ host.Schedules }

type faultySchedules struct {
	schedules
	p *Process
}

// Update may return an error although it took effect.
func (s faultySchedules) Update(ctx context.Context, x host.Schedule, old host.Times, at time.Time) error {
	return s.p.call(ctx, fmt.Sprintf("update schedule %d from %v", x.ID, old.Run), func() error { return s.schedules.Update(ctx, x, old, at) })
}

// Backfills wraps backfills.
func (p *Process) Backfills(b host.Backfills) host.Backfills { return faultyBackfills{b, p} }

// backfills embeds the port under a name that differs from the names of its methods.
type backfills interface{ host.Backfills }

type faultyBackfills struct {
	backfills
	p *Process
}

// Backfill may fail.
func (s faultyBackfills) Backfill(ctx context.Context, site, id int64) (b host.Backfill, err error) {
	err = s.p.call(ctx, fmt.Sprintf("read backfill %d", id), func() (err error) {
		b, err = s.backfills.Backfill(ctx, site, id)
		return err
	})
	return b, err
}

// UpdateBackfill may return an error although it took effect.
func (s faultyBackfills) UpdateBackfill(ctx context.Context, b host.Backfill) error {
	return s.p.call(ctx, fmt.Sprintf("update backfill %d from %d", b.ID, b.Version), func() error { return s.backfills.UpdateBackfill(ctx, b) })
}

// Semaphore wraps a semaphore.
func (p *Process) Semaphore(s host.Semaphore) host.Semaphore { return faultySemaphore{s, p} }

type faultySemaphore struct {
	host.Semaphore
	p *Process
}

// Line may fail.
func (s faultySemaphore) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	err = s.p.call(ctx, "read pool "+ref.Name, func() (err error) {
		l, err = s.Semaphore.Line(ctx, ref, n)
		return err
	})
	return l, err
}

// TakeSlots may return an error although it took effect.
func (s faultySemaphore) TakeSlots(ctx context.Context, ref host.PoolRef, c host.Claim, numbers []int, inLine bool, at time.Time) error {
	return s.p.call(ctx, "take slots of "+ref.Name+" for "+c.Holder, func() error { return s.Semaphore.TakeSlots(ctx, ref, c, numbers, inLine, at) })
}

// JoinLine may return an error although it took effect.
func (s faultySemaphore) JoinLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	return s.p.call(ctx, "join the line of "+ref.Name+" for "+c.Holder, func() error { return s.Semaphore.JoinLine(ctx, ref, c) })
}

// LeaveLine may return an error although it took effect.
func (s faultySemaphore) LeaveLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	return s.p.call(ctx, "leave the line of "+ref.Name+" for "+c.Holder, func() error { return s.Semaphore.LeaveLine(ctx, ref, c) })
}

// FreeSlots may return an error although it took effect.
func (s faultySemaphore) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	return s.p.call(ctx, "free slots of "+ref.Name+" of "+holder, func() error { return s.Semaphore.FreeSlots(ctx, ref, holder, numbers) })
}
