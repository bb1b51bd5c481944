package notice_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/notice"
)

// all returns the stored notices.
func (m *memory) all() []host.StoredNotice {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// TestOutboxInMemory runs the contract suite on the store of these tests.
func TestOutboxInMemory(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("it stores notices only", "Outbox"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		run(t, suite.Stores{Outbox: newMemory()})
	}})
}

// receiver records the tries, and accepts a notice when works is set.
type receiver struct {
	mu    sync.Mutex
	works bool
	at    []time.Time
	got   []*param.Map
	takes time.Duration
}

func (r *receiver) Send(ctx context.Context, fields *param.Map) (string, error) {
	time.Sleep(r.takes) // on the fake clock
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, time.Now())
	if !r.works {
		return "", errors.New("no answer")
	}
	r.got = append(r.got, fields)
	return "thanks", ctx.Err()
}

// tries returns the times of all tries.
func (r *receiver) tries() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.at)
}

// accepted returns the accepted notices.
func (r *receiver) accepted() []*param.Map {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// watched counts lost notices and keeps the log.
type watched struct {
	host.Unobserved
	mu   sync.Mutex
	lost []host.Attempt
	log  strings.Builder
}

func (w *watched) NoticeLost(a host.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, a)
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// given returns the attempts whose notices were given up on.
func (w *watched) given() []host.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lost)
}

// text returns the log.
func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// options returns the options of an outbox with one channel, for everything.
func (w *watched) options(r notice.Sender) notice.OutboxOptions {
	return notice.OutboxOptions{Channels: []notice.Channel{{Name: "ops", Sender: r}}, Routes: []notice.Route{{Name: "all", Channels: []string{"ops"}}}, Options: notice.Options{Retries: 3, Shortest: time.Second, Longest: 30 * time.Second, Now: time.Now, Program: "zerodag", Console: "https://z.example.com"}, Observer: w, Logger: slog.New(slog.NewTextHandler(w, nil))}
}

// running runs an outbox until the returned function is called.
func running(t *testing.T, b *notice.Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { b.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

// TestOutboxDelivers proves that a kept notice is delivered once with all its fields and then removed, and that the
// same event is kept once.
func TestOutboxDelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, r := newMemory(), &receiver{works: true}
		b := notice.NewOutbox(store, w.options(r))
		n := failed
		n.Failure = &host.Failure{Task: "+main+b", Message: "no", Lines: []string{"one"}}
		for range 2 {
			if err := b.Keep(t.Context(), n, "7/1.1"); err != nil {
				t.Fatal(err)
			}
		}
		defer running(t, b)()
		synctest.Wait()
		if len(r.accepted()) != 1 || len(store.all()) != 0 {
			t.Fatalf("delivered %d times, %d left", len(r.accepted()), len(store.all()))
		}
		for key, want := range map[string]any{"message": n.Message, "failed_task": "+main+b", "last_lines": "one", "resume": "zerodag retry 7 --latest-revision --resume", "attempt_id": int64(7), "url": "https://z.example.com/attempts/7"} {
			if got, _ := r.accepted()[0].Get(key); got != want {
				t.Errorf("%s is %v, want %v", key, got, want)
			}
		}
	})
}

// TestOutboxRetries proves that a notice is retried with growing waits, even by a later process, that it is given up on
// after a day, with a line in the log and a count, and that it stays and can be sent again.
func TestOutboxRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, r := newMemory(), &receiver{}
		b := notice.NewOutbox(store, w.options(r))
		stop := running(t, b)
		began := time.Now()
		if err := b.Keep(t.Context(), failed, "7/1.1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stop()
		first := len(r.tries())
		if first < 6 || first > 15 {
			t.Errorf("%d tries in ten minutes: %v", first, r.tries())
		}
		if n := store.all()[0]; n.Error != "no answer" || n.Due.IsZero() || n.Tries != first {
			t.Errorf("stored %+v", n)
		}
		defer running(t, notice.NewOutbox(store, w.options(r)))()
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		n := store.all()[0]
		if given := n.GivenUpAt.Sub(began); len(w.given()) != 1 || w.given()[0].ID != 7 || given < 24*time.Hour || given > 25*time.Hour || !n.Due.IsZero() {
			t.Errorf("lost %v, given up after %v: %+v", w.given(), given, n)
		}
		if text := w.text(); strings.Count(text, "notification given up") != 1 || strings.Count(text, "will be retried") != 1 {
			t.Errorf("log:\n%s", text)
		}
		if tries := len(r.tries()) - first; tries < 20 || tries > 60 {
			t.Errorf("%d tries in the rest of the day", tries)
		}
		before := len(r.tries())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if len(r.tries()) != before {
			t.Error("it was tried again after it was given up")
		}
		r.mu.Lock()
		r.works = true
		r.mu.Unlock()
		again := n
		again.Tries, again.Since, again.Due, again.GivenUpAt = 0, time.Now(), time.Now(), time.Time{}
		if err := store.UpdateNotice(t.Context(), again, n.Tries); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.accepted()) != 1 || len(store.all()) != 0 {
			t.Errorf("delivered %d times, %d left", len(r.accepted()), len(store.all()))
		}
	})
}

// TestOutboxesShareAStore proves that two processes deliver each notice once, even if the receiver is slow.
func TestOutboxesShareAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, r := newMemory(), &receiver{works: true, takes: 20 * time.Second}
		one, two := notice.NewOutbox(store, w.options(r)), notice.NewOutbox(store, w.options(r))
		defer running(t, one)()
		defer running(t, two)()
		for i := range int64(40) {
			n := failed
			n.Attempt.ID = i
			if err := one.Keep(t.Context(), n, time.Unix(i, 0).String()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(r.accepted()) != 40 || len(store.all()) != 0 {
			t.Errorf("delivered %d times, %d left", len(r.accepted()), len(store.all()))
		}
	})
}

// TestOutboxSurvivesItsProcess proves that a notice whose try was cut off when its process ended is delivered by the
// next process.
func TestOutboxSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w watched
		store, r := newMemory(), &receiver{works: true}
		if err := notice.NewOutbox(store, w.options(r)).Keep(t.Context(), failed, "7/1.1"); err != nil {
			t.Fatal(err)
		}
		n := store.all()[0] // as a process that is killed during its first try leaves it
		n.Tries, n.Due = 1, time.Now().Add(2*time.Minute)
		if err := store.UpdateNotice(t.Context(), n, 0); err != nil {
			t.Fatal(err)
		}
		defer running(t, notice.NewOutbox(store, w.options(r)))()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.accepted()) != 0 {
			t.Error("two processes try at once")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(r.accepted()) != 1 || len(store.all()) != 0 {
			t.Errorf("delivered %d times, %d left", len(r.accepted()), len(store.all()))
		}
	})
}
