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
	maxMemory = 64 << 20               // bytes by which the heap may grow during it

	// Memory can be exhausted quickly, so the first checks follow one another in quick succession.
	fastLooks = 20
	fastPause = time.Millisecond
	slowPause = 10 * time.Millisecond
	maxLooks  = 1000
	// A machine that was too busy for this many checks was also too busy for the script.
	fairLooks = 8
	// In that case the time is extended, at most this many times.
	maxDelays = 50
	// The processor time of a script, if it is known, and how often it is checked beyond maxTime.
	ownTime  = 350 * time.Millisecond
	ownPause = maxTime / 10
)

// limitBacktracking limits one match of a regular expression. The engine passes expressions that need backtracking to a
// library that reads the limit only from a package variable. It is longer than a script may run, so that the interrupt
// comes first and the match does not merely seem to fail.
func limitBacktracking(most time.Duration) {
	backtracking.Do(func() { regexp2.DefaultMatchTimeout = cmp.Or(most, maxTime+matchGrace) })
}

var backtracking sync.Once //nolint:gochecknoglobals // the variable that it guards also belongs to the process

const matchGrace = 150 * time.Millisecond

// watcher interrupts a script that takes too much time or memory. The heap belongs to the whole process, so a script
// may be blamed for other scripts' allocations. That can happen only to a script that takes some time, since the first
// check comes after a pause, and only if the script is blamed in every attempt.
//
// In a separate process, all memory and time used belong to the script. In that case its time is processor time, and an
// overloaded machine only delays it.
type watcher struct {
	rt          *goja.Runtime
	spent       func() time.Duration // nil: the process is shared
	began       time.Duration        // the time spent before the script began
	clock, heap *time.Timer
	sample      []metrics.Sample
	limit       uint64
	// Counters of events; only their length is read.
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
	// Started only after the fields that the callbacks read are set.
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

// stop ends the watch. A running callback may still interrupt the runtime, which is why a reused runtime is not trusted
// after an error. It reports whether the result is in doubt: another evaluation may have used the memory, and on an
// overloaded machine a regular expression may have timed out without an interrupt.
func (w *watcher) stop() (doubtful bool) {
	w.clock.Stop()
	w.heap.Stop()
	return w.spent == nil && len(w.delay)+len(w.greedy) > 0
}

// random returns a source of numbers that depends only on the seed (splitmix64).
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
