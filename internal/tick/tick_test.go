package tick

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
)

// world is a deployment that records the calls of a tick.
type world struct {
	mu     sync.Mutex
	now    time.Time
	marks  map[host.Mark]int64
	calls  []string
	failed map[string]error // by part

	sentUpTo time.Time // HandOver fails after everything up to then is sent; zero: it does not fail
	steps    []int64   // the attempt that each step of a sweep reaches; 0 means the end
	sweeps   []int64   // the attempt after which each removal began
	from     []time.Time
	forgets  bool
	parts    []int64 // the attempt that each removal of old attempts reaches; 0 means the end
	forgot   []int64 // the attempt after which each removal began
	moves    int
	timers   map[string]time.Time
	sent     outbox
}

// outbox records sent messages.
type outbox struct {
	host.Queue
	ids []string
}

func (q *outbox) Send(_ context.Context, list ...host.Message) error {
	for _, m := range list {
		q.ids = append(q.ids, m.ID)
	}
	return nil
}

func newWorld() *world {
	return &world{now: time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC), marks: map[host.Mark]int64{}, failed: map[string]error{}, timers: map[string]time.Time{}}
}

func (w *world) ticker() *Ticker {
	return &Ticker{Node: w, Horizon: w, Timers: w, Queues: map[string]host.Queue{"tasks": &w.sent}, Dead: []host.DeadLetters{w}, Daily: w.daily(), Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler)}
}

func (w *world) call(part string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, part)
	return w.failed[part]
}

func (w *world) Marks(context.Context) (map[host.Mark]int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	marks := map[host.Mark]int64{}
	for m, at := range w.marks {
		marks[m] = at
	}
	return marks, nil
}

func (w *world) Move(_ context.Context, m host.Mark, from, to int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moves++
	if w.marks[m] == from {
		w.marks[m] = to
	}
	return nil
}

func (w *world) HandOver(_ context.Context, from, _ time.Time, sent func(time.Time) error) error {
	if sent == nil {
		return w.call("overdue")
	}
	w.from = append(w.from, from)
	if err := w.call("hand over"); err != nil {
		return err
	}
	if w.sentUpTo.IsZero() {
		return nil
	}
	return errors.Join(sent(w.sentUpTo), errors.New("cut off"))
}

func (w *world) Revive(context.Context, time.Time, time.Time) error { return w.call("revive") }

func (w *world) Sweep(_ context.Context, after int64) (next int64, over bool, err error) {
	w.sweeps = append(w.sweeps, after)
	err = w.call("sweep")
	if len(w.steps) > 0 {
		next, w.steps = w.steps[0], w.steps[1:]
	}
	return next, next == 0, err
}

// daily returns the chores.
func (w *world) daily() []Chore {
	if !w.forgets {
		return nil
	}
	return []Chore{{host.Forgetting, host.Forgot, w.Forget}}
}

func (w *world) Forget(_ context.Context, after int64) (next int64, over bool, err error) {
	w.forgot = append(w.forgot, after)
	err = w.call("forget")
	if len(w.parts) > 0 {
		next, w.parts = w.parts[0], w.parts[1:]
	}
	return next, next == 0, err
}

func (w *world) Later(_ context.Context, _ string, list ...host.Message) error {
	for _, m := range list {
		w.timers[m.ID] = m.Due
	}
	return nil
}
func (w *world) Due(_ context.Context, until time.Time, _ int) (list []host.Timer, err error) {
	for id, due := range w.timers {
		if !due.After(until) {
			list = append(list, host.Timer{Queue: "tasks", Message: host.Message{ID: id, Due: due}})
		}
	}
	return list, w.call("timers")
}
func (w *world) Delete(_ context.Context, list []host.Timer) error {
	for _, x := range list {
		delete(w.timers, x.Message.ID)
	}
	return nil
}
func (w *world) Redrive(context.Context, func(int) bool) (int, error) {
	return 0, w.call("redrive")
}
func (w *world) Look(context.Context, func(host.DeadLetter) bool) error { return w.call("look") }
func (w *world) Return(context.Context, string) error                   { return w.call("return") }

// tick lets a minute pass and ticks; it returns how many times each part was called.
func (w *world) tick(t *testing.T, wantErr bool) map[string]int {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	w.calls = nil
	if err := w.ticker().Once(t.Context()); (err != nil) != wantErr {
		t.Errorf("the tick ended with %v", err)
	}
	count := map[string]int{}
	for _, c := range w.calls {
		count[c]++
	}
	return count
}

// tickWrites returns how many marks a tick moves.
func (w *world) tickWrites(t *testing.T) int {
	t.Helper()
	w.moves = 0
	w.tick(t, false)
	return w.moves
}

// TestPartsGoOnApart proves that a failing part does not delay the others: they are done once in their round, and the
// failing part is repeated every minute.
func TestPartsGoOnApart(t *testing.T) {
	t.Parallel()
	everyMinute := map[string]int{"timers": 1, "hand over": 1, "revive": 1}
	for part, again := range map[string]map[string]int{
		"timers": everyMinute, "hand over": everyMinute, "revive": everyMinute,
		"sweep":   everyMinute, // problems of single attempts wait for the next round
		"redrive": {"timers": 1, "hand over": 1, "revive": 1, "redrive": 1},
	} {
		w := newWorld()
		w.failed[part] = errors.New("away")
		first := w.tick(t, true)
		if diff := cmp.Diff(map[string]int{"timers": 1, "hand over": 1, "revive": 1, "sweep": 1, "redrive": 1}, first); diff != "" {
			t.Errorf("%s fails, first tick: %s", part, diff)
		}
		if diff := cmp.Diff(again, w.tick(t, part != "sweep")); diff != "" {
			t.Errorf("%s fails, second tick: %s", part, diff)
		}
		w.now = w.now.Add(15 * time.Minute)
		if n := w.tick(t, true); n["sweep"] != 1 || n["redrive"] != 1 {
			t.Errorf("%s fails, next round: %v", part, n)
		}
	}
}

// TestSweepInSteps proves that a check of all attempts that takes longer than a tick resumes at the next one, and that
// schedules are handed over in the meantime.
func TestSweepInSteps(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.steps = []int64{40, 90, 0, 0}
	for range 9 {
		w.tick(t, false)
		if got := time.UnixMicro(w.marks[host.Handed]); !got.Equal(w.now.Add(ahead)) {
			t.Errorf("at %v all is handed over until %v", w.now, got)
		}
	}
	if diff := cmp.Diff([]int64{0, 40, 90}, w.sweeps); diff != "" {
		t.Errorf("a round was made in steps from %s", diff)
	}
	if writes := w.tickWrites(t); writes != 1 {
		t.Errorf("a tick with nothing to do writes %d marks, want 1", writes)
	}
	w.now = w.now.Add(15 * time.Minute)
	w.tick(t, false)
	if diff := cmp.Diff([]int64{0, 40, 90, 0}, w.sweeps); diff != "" {
		t.Errorf("the next round: %s", diff)
	}
}

// TestHandOverGoesOn proves that schedules that were sent before a tick was cut off are not sent again by the next
// tick, which continues after them.
func TestHandOverGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.tick(t, false)
	w.sentUpTo = w.now.Add(90 * time.Second)
	w.tick(t, true)
	w.tick(t, true) // sent is called for earlier ones: the mark does not go back
	want := []time.Time{{}, w.now.Add(-2*time.Minute + ahead), w.sentUpTo}
	if diff := cmp.Diff(want, w.from, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		t.Error(diff)
	}
}

// TestForgetsOnceADay proves that a tick makes no calls and moves no mark if attempts are kept forever, that old
// attempts are removed part by part once a day, and that failed daily work resumes at the next tick.
func TestForgetsOnceADay(t *testing.T) {
	t.Parallel()
	w := newWorld()
	if n := w.tick(t, false); n["forget"] != 0 || w.marks[host.Forgot] != 0 {
		t.Errorf("attempts are kept for ever, and it asked %d times", n["forget"])
	}
	w.forgets, w.parts = true, []int64{70, 90}
	if n := w.tick(t, false); n["forget"] != 3 {
		t.Errorf("it asked %d times, want 3", n["forget"])
	}
	if n := w.tick(t, false); n["forget"] != 0 {
		t.Errorf("on the same day it asked again")
	}
	w.now = w.now.Add(24 * time.Hour)
	w.parts, w.failed["forget"] = []int64{50}, errors.New("away")
	w.tick(t, true)
	delete(w.failed, "forget")
	if n := w.tick(t, false); n["forget"] != 1 {
		t.Errorf("after a failure it asked %d times", n["forget"])
	}
	if diff := cmp.Diff([]int64{0, 70, 90, 0, 50}, w.forgot); diff != "" {
		t.Errorf("it began from %s", diff)
	}
}

// TestKeptMessages proves that a timer is removed once it is sent, but that a timer that is in no log is sent again
// from time to time until its work is done.
func TestKeptMessages(t *testing.T) {
	t.Parallel()
	w := newWorld()
	kept := host.StartsMark + "x-1"
	w.timers = map[string]time.Time{"7/wake": w.now, kept: w.now}
	for range 40 {
		w.tick(t, false)
	}
	if got, want := strings.Join(slices.Sorted(slices.Values(w.sent.ids)), " "), kept+" "+kept+" 7/wake"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	delete(w.timers, kept) // by the process that has done the work
	for range 40 {
		w.tick(t, false)
	}
	if len(w.sent.ids) != 3 || len(w.timers) != 0 {
		t.Errorf("sent %q, left %v", w.sent.ids, w.timers)
	}
}
