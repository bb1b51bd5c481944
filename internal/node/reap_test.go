package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/events"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// TestTimeToLive proves that attempts and tasks that run too long are killed and users are notified, and checks which
// kinds of tasks this applies to.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		limits host.Limits
		status string
		told   []string
		took   time.Duration
	}{
		"attempt":               {"+a:\n  work>: long\n", host.Limits{AttemptTTL: time.Hour}, "killed", []string{"Workflow execution timeout"}, time.Hour},
		"task":                  {"+x:\n  work>: x\n+a:\n  work>: long\n", host.Limits{TaskTTL: time.Hour}, "killed", []string{"Task execution timeout: 3"}, time.Hour},
		"poll":                  {"+a:\n  work>: poll\n", host.Limits{TaskTTL: time.Hour}, "killed", []string{"Task execution timeout: 2"}, time.Hour},
		"a group is not a task": {"+g:\n  loop>: 10\n  _do:\n    work>: ten minutes\n", host.Limits{TaskTTL: time.Hour}, "success", nil, 100 * time.Minute},
		"in time":               {"+a:\n  work>: ten minutes\n", host.Limits{TaskTTL: time.Hour, AttemptTTL: time.Hour}, "success", nil, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("long", lasting(30*time.Hour))
				w.on("ten minutes", lasting(10*time.Minute))
				w.on("poll", func(context.Context, *operators.Task) (operators.Result, error) {
					return operators.Result{}, &operators.Later{After: 17 * time.Minute}
				})
				p := w.serve(func(o *node.Options) { o.Limits = c.limits })
				a := p.run(c.text)
				want(t, "status", p.end(a), c.status)
				want(t, "notices", w.told(), c.told)
				row := p.row(a)
				if took := row.FinishedAt.Sub(row.CreatedAt); took < c.took || took > c.took+6*time.Second {
					t.Errorf("it took %v, want %v and at most 6 s", took, c.took)
				}
			})
		})
	}
}

// TestKilledAndSilent proves that an attempt that was killed ends although its run no longer exists, as after a queue
// is lost, and makes room for others; and that an attempt whose run is merely slow is not disturbed.
func TestKilledAndSilent(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"lost": true, "slow": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("a", deaf(8*time.Hour))
				if lost {
					w.on("a", lasting(8*time.Hour))
				}
				b := &bus{}
				limits := func(o *node.Options) {
					o.Limits = host.Limits{TaskTTL: 6 * time.Hour, Attempts: 1, Lease: 30 * 24 * time.Hour, ReapInterval: time.Minute}
					o.Bus = b
				}
				p := w.serve(limits)
				a := p.run("+a: {work>: a}\n")
				pass(5 * time.Hour)
				b.mu.Lock()
				b.failures = 2 // the announcement of the end is retried until it succeeds
				b.mu.Unlock()
				if lost {
					p.crash() // and its message is not redelivered during the test
					p = w.serve(limits)
				}
				if _, err := p.Kill(w.t.Context(), 0, a.ID); err != nil {
					t.Fatal(err)
				}
				pass(6 * time.Hour)
				want(t, "over after six hours", p.row(a).Done, !lost)
				want(t, "status", p.end(a), "killed")
				if took := p.row(a).FinishedAt.Sub(a.CreatedAt); lost && (took < 12*time.Hour || took > 12*time.Hour+10*time.Minute) {
					t.Errorf("it ended after %v", took)
				}
				pass(10 * time.Minute)
				b.mu.Lock()
				defer b.mu.Unlock()
				if told := b.told[len(b.told)-1]; !strings.HasPrefix(told, "Attempt Killed") {
					t.Errorf("told last: %s", told)
				}
				want(t, "another one begins", p.start(2).ID > a.ID, true)
			})
		})
	}
}

// TestRetention proves that the log of a finished attempt is kept for its retention time, that its tasks stay visible
// forever, and that a later message does no harm.
func TestRetention(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve(func(o *node.Options) { o.Limits.Retention = time.Hour })
		a := p.run("+a:\n  work>: a\n")
		want(t, "status", p.end(a), "success")
		pass(59 * time.Minute)
		_, err := p.History(w.t.Context(), a, 1, 10)
		w.must(err)
		pass(2 * time.Minute)
		_, err = p.History(w.t.Context(), a, 1, 10)
		want(t, "code of a history that is gone", code(err), host.Missing)
		want(t, "tasks", p.tasks(a), []string{" success", "+a success"})
		w.must(w.db.Queue("tasks").Send(w.t.Context(), host.Message{ID: "1/2.1", Body: []byte(`{"v":1,"runs":[{"task":2,"d":1}]}`)}))
		w.must(w.db.Queue("events").Send(w.t.Context(), host.Message{ID: "99/kill", Group: "99", Body: events.Encode(events.Event{Kind: events.Kill})}))
		w.must(w.db.Queue("tasks").Send(w.t.Context(), host.Message{ID: "nonsense", Body: []byte("x")}))
		pass(time.Minute)
		w.wantRuns("+main+a/1")
		for _, id := range []string{"1/2.1", "99/kill", "nonsense"} {
			if len(w.writes("delete "+id)) == 0 {
				t.Errorf("message %s was not dropped", id)
			}
		}
	})
}

// TestNewerForm proves that a message that this program cannot read is redelivered until a program that can read it
// receives it.
func TestNewerForm(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.serve()
		w.must(w.db.Queue("tasks").Send(w.t.Context(), host.Message{ID: "1/2.1", Body: []byte(`{"v":99}`)}))
		pass(time.Hour)
		want(t, "deleted", len(w.writes("delete")), 0)
		if n := strings.Count(w.said(), "form 99"); n < 30 || n > 70 {
			t.Errorf("it was looked at %d times in an hour", n)
		}
	})
}

// TestReapersTrouble proves that an attempt that cannot be maintained does not affect the maintenance of other
// attempts.
func TestReapersTrouble(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("a", deaf(2*time.Hour))
		p := w.serve(func(o *node.Options) { o.Limits.TaskTTL = time.Hour; o.Log = brokenLog{o.Log} })
		p.push("main.dig", "+a:\n  work>: a\n")
		a := p.start(1)
		pass(time.Minute)
		q := w.serve(func(o *node.Options) { o.Limits.TaskTTL = 30 * time.Minute; o.Log = brokenLog{o.Log} }) // remembers nothing
		b := q.start(2)
		pass(40 * time.Minute)
		want(t, "first", p.row(a).Canceled, false)
		want(t, "second", p.row(b).Canceled, true)
	})
}

// brokenLog cannot read the log of attempt 1 after its first minute.
type brokenLog struct{ host.Log }

func (b brokenLog) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	if attempt == 1 && time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) >= time.Minute {
		return host.Stored{}, errors.New("cannot be read")
	}
	return b.Log.Load(ctx, attempt)
}

// poisoned is a log with entries that fit no attempt.
type poisoned struct{ host.Log }

func (l poisoned) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	s, err := l.Log.Load(ctx, attempt)
	if attempt == 1 && err == nil {
		s.Entries = append(s.Entries, host.Entry{Seq: 99, Changes: []byte(`[{"k":"task","v":{"task":77,"to":{"state":7}}}]`)})
	}
	return s, err
}

// TestGiveUp proves that an attempt that makes the engine panic ends after five panics, that other attempts are
// unaffected, and that none of its tasks run later.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*node.Options){
		"replay": func(o *node.Options) { o.Log = poisoned{o.Log} },
		"step": func(o *node.Options) {
			o.Store = func(int64) operators.ParamStore { panic("defect") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p := w.serve(edit)
				a := p.run("+a:\n  work>: a\n+b:\n  echo>: x\n")
				steps := p.Watch(w.t.Context(), a)
				want(t, "status", p.end(a), "error")
				for range steps {
				}
				want(t, "notices", w.told(), []string{"Workflow session attempt failed"})
				pass(time.Hour)
				want(t, "number of runs", len(w.ran()), 0)
				p.tasks(a)
				if n := strings.Count(w.said(), "attempt abandoned"); n != 1 {
					t.Errorf("it was given up %d times\n%s", n, w.said())
				}
			})
		})
	}
}
