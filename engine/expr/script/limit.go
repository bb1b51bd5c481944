package script

import (
	"cmp"
	"math"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

const (
	maxTime   = 500 * time.Millisecond // of one evaluation
	maxMemory = 64 << 20               // bytes that the heap may grow by meanwhile

	// Memory can be gone quickly, so the first looks at it follow fast.
	fastLooks = 20
	fastPause = time.Millisecond
	slowPause = 10 * time.Millisecond
	maxLooks  = 1000
	// A machine that had no time for so many looks had none for the script either.
	fairLooks = 8
	// So often the time is given again then.
	maxDelays = 50
	// The time of the processor that a script has, where it is known, and how often that is
	// looked at beyond maxTime.
	ownTime  = 350 * time.Millisecond
	ownPause = maxTime / 10
)

// limitBacktracking bounds one match of a regular expression. The engine gives those that need
// backtracking to a library which reads the limit from a variable of its own, and from nowhere
// else. It is longer than a script may take, so that the interrupt comes first and the match does
// not just seem to fail.
func limitBacktracking(most time.Duration) {
	backtracking.Do(func() { regexp2.DefaultMatchTimeout = cmp.Or(most, maxTime+matchGrace) })
}

var backtracking sync.Once //nolint:gochecknoglobals // the variable that it guards is of the process, too

const matchGrace = 150 * time.Millisecond

// watcher interrupts a script that takes too long or too much. The heap is that of
// the whole process, so a script may be blamed for what others allocate: only one that
// takes its time itself, as the first look is after a pause, and only if it is blamed
// each time that it is tried.
//
// In a process of its own a script has all the memory that is taken and all the time that is
// spent: then its time is that of the processor, and a machine that has none to give only
// delays it.
type watcher struct {
	rt          *goja.Runtime
	spent       func() time.Duration // nil: the process is not the script's own
	began       time.Duration        // of what was spent
	clock, heap *time.Timer
	sample      []metrics.Sample
	limit       uint64
	// Counters of what happened, never read but for their length.
	looks, delay, greedy chan struct{}
}

func watch(rt *goja.Runtime, spent func() time.Duration) *watcher {
	w := &watcher{
		rt:     rt,
		spent:  spent,
		sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}},
		looks:  make(chan struct{}, maxLooks),
		delay:  make(chan struct{}, maxDelays),
		greedy: make(chan struct{}, maxLooks),
	}
	if spent != nil {
		w.began = spent()
	}
	// Armed only when the fields are set, which the callbacks read.
	w.clock = time.AfterFunc(math.MaxInt64, w.ring)
	w.heap = time.AfterFunc(math.MaxInt64, w.look)
	w.clock.Reset(maxTime)
	w.heap.Reset(fastPause)
	return w
}

func (w *watcher) ring() {
	if w.spent != nil && w.spent()-w.began < ownTime && len(w.delay) < maxDelays {
		w.delay <- struct{}{}
		w.clock.Reset(ownPause)
		return
	}
	if w.spent == nil && len(w.looks) < fairLooks && len(w.delay) < maxDelays/5 {
		w.delay <- struct{}{}
		w.clock.Reset(maxTime)
		return
	}
	w.rt.Interrupt("the evaluation took longer than " + maxTime.String())
}

func (w *watcher) look() {
	metrics.Read(w.sample)
	used := uint64(0)
	if w.sample[0].Value.Kind() == metrics.KindUint64 {
		used = w.sample[0].Value.Uint64()
	}
	if w.limit == 0 {
		w.limit = used + maxMemory
	}
	if used > w.limit {
		w.greedy <- struct{}{}
		w.rt.Interrupt("the evaluation took more than 64 MiB of memory")
		return
	}
	w.looks <- struct{}{}
	switch n := len(w.looks); {
	case n < fastLooks:
		w.heap.Reset(fastPause)
	case n < maxLooks:
		w.heap.Reset(slowPause)
	}
}

// stop ends the watch. A callback under way may still interrupt the runtime, which is
// why a runtime that is used again is not trusted after an error. It returns whether
// the result is in doubt: memory may have been taken by another evaluation, and on an overloaded
// machine a regular expression may have run out of its time without an interrupt.
func (w *watcher) stop() (doubtful bool) {
	w.clock.Stop()
	w.heap.Stop()
	return w.spent == nil && len(w.delay)+len(w.greedy) > 0
}

// random is a source of numbers that is the same for the same seed (splitmix64).
func random(seed uint64) goja.RandSource {
	return func() float64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		return float64(z>>11) / (1 << 53)
	}
}
