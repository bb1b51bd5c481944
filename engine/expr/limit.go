package expr

import (
	"math"
	"runtime/metrics"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

const (
	maxMemory = 64 << 20 // bytes that the heap may grow by during one evaluation

	// An evaluation may take half a second, counted as looks at it and not by a clock:
	// where the machine is overloaded the looks are late as the script itself is.
	fastLooks = 20 // first: memory can be gone quickly
	fastPause = time.Millisecond
	slowLooks = 48
	slowPause = 10 * time.Millisecond
	maxTime   = fastLooks*fastPause + slowLooks*slowPause
)

// The engine gives regular expressions that need backtracking to a library which
// reads the limit of one match from a variable of its own, and from nowhere else. It
// is a bit longer than a script may take, so that the interrupt comes first and the
// match does not just seem to fail.
var _ = limitBacktracking()

func limitBacktracking() bool {
	regexp2.DefaultMatchTimeout = maxTime + 50*time.Millisecond
	return true
}

// watcher interrupts a script that takes too long or too much. The heap is that of
// the whole process, so a script may be blamed for what others allocate, but only
// one that takes its time itself: the first look is after a pause.
type watcher struct {
	rt     *goja.Runtime
	timer  *time.Timer
	sample []metrics.Sample
	limit  uint64
	looks  int
}

func watch(rt *goja.Runtime) *watcher {
	w := &watcher{rt: rt, sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	// Armed only when the field is set, which look reads.
	w.timer = time.AfterFunc(math.MaxInt64, w.look)
	w.timer.Reset(fastPause)
	return w
}

// look runs on the timer, one at a time.
func (w *watcher) look() {
	metrics.Read(w.sample)
	used := uint64(0)
	if w.sample[0].Value.Kind() == metrics.KindUint64 {
		used = w.sample[0].Value.Uint64()
	}
	if w.limit == 0 {
		w.limit = used + maxMemory
	}
	w.looks++
	switch {
	case used > w.limit:
		w.rt.Interrupt("the evaluation took more than 64 MiB of memory")
	case w.looks < fastLooks:
		w.timer.Reset(fastPause)
	case w.looks < fastLooks+slowLooks:
		w.timer.Reset(slowPause)
	default:
		w.rt.Interrupt("the evaluation took longer than " + maxTime.String())
	}
}

// stop ends the watch. A look under way may still go on to the end and interrupt the
// runtime, which is why a runtime that is used again is not trusted after an error.
func (w *watcher) stop() { w.timer.Stop() }

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
