package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/node"
)

// at makes an attempt begin at the given time.
func at(t time.Time) func(*catalogue.StartRequest) {
	return func(r *catalogue.StartRequest) { r.At = t }
}

// TestStartAt proves that an attempt with a later start exists at once, that its tasks run once and not before that
// time, even after a crash, in one process and in several, and that repeating the request starts nothing.
func TestStartAt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain": "+a: {work>: a}\n+b: {work>: b}\n",
		"gated": "zerodag: 1\n_if: true\nconcurrency: {attempts: 1}\n+a: {work>: a}\n+b: {_if: true, work>: b}\n",
	} {
		for _, several := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " in several"}[several], func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					p := w.closingProcess(several)
					p.push("main.dig", text)
					begins := time.Now().Add(50 * time.Hour)
					a, _ := p.another(1, at(begins))
					want(t, "time", p.row(a).StartsAt, begins.UTC().Truncate(time.Second))
					_, err := p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(1, 0), Params: param.New()})
					want(t, "code of a second start", code(err), host.Conflict)
					pass(10 * time.Hour)
					want(t, "status", p.status(a), "running")
					if !several {
						p.crash()
						p = w.serve()
					}
					pass(40*time.Hour - 2*time.Second)
					want(t, "runs before its time", len(w.ran()), 0)
					want(t, "status at the end", p.end(a), "success")
					want(t, "runs", len(w.ran()), 2)
				})
			})
		}
	}
}

// TestKillBeforeStart proves that killing an attempt that has not begun removes its message from the queue.
func TestKillBeforeStart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "+a: {work>: a}\n")
		killed, _ := p.another(1, at(time.Now().Add(50*time.Hour)))
		kept, _ := p.another(2, at(time.Now().Add(50*time.Hour)))
		pass(time.Minute)
		_, err := p.Kill(t.Context(), killed.Site, killed.ID)
		w.must(err)
		want(t, "status", p.end(killed), "killed")
		pass(time.Minute)
		var got []string
		for _, a := range []host.Attempt{killed, kept} {
			list, err := w.db.MessagesOf(t.Context(), a.ID)
			w.must(err)
			for _, m := range list {
				got = append(got, m.ID)
			}
		}
		want(t, "messages", strings.Join(got, " "), host.MessageID(kept.ID, "begin"))
		want(t, "status of the other", p.end(kept), "success")
	})
}

// TestStartAtTimes proves that the age limit counts from the time at which an attempt begins, that a past time means
// now, and that a time too far in the future is refused.
func TestStartAtTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(6*time.Hour))
		p := w.serve(func(o *node.Options) { o.Limits.AttemptTTL, o.Limits.TaskTTL = 8*time.Hour, 7*time.Hour })
		p.push("main.dig", "+a: {work>: long}\n")
		now, _ := p.another(1, at(time.Now().Add(-time.Hour)))
		want(t, "time of one that begins at once", p.row(now).StartsAt.IsZero(), true)
		late, _ := p.another(2, at(time.Now().Add(5*time.Hour)))
		want(t, "status", p.end(now), "success")
		want(t, "status of one older than may be, by its row", p.end(late), "success")
		_, err := p.Start(t.Context(), catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(3, 0), Params: param.New(), At: time.Now().Add(31 * 24 * time.Hour)})
		want(t, "code of a time too far", code(err), host.Invalid)
		want(t, "what to do instead", strings.Contains(err.Error(), "`once>`"), true)
	})
}

// TestStartAtKill proves that an attempt that waits for its time ends at once when it is killed, and that its timer
// then starts nothing.
func TestStartAtKill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "zerodag: 1\n_finally: {work>: f}\n+a: {work>: a}\n")
		a, _ := p.another(1, at(time.Now().Add(time.Hour)))
		pass(time.Minute)
		_, err := p.Kill(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(time.Second)
		want(t, "status", p.status(a), "killed")
		pass(2 * time.Hour)
		want(t, "runs", len(w.ran()), 0)
	})
}

// TestStartAtSkips proves that `on_limit: skip` is applied at the time at which an attempt begins, and that an attempt
// that waits for its time does not block others.
func TestStartAtSkips(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(time.Hour))
		p := w.serve()
		p.push("main.dig", limited("attempts: 1, on_limit: skip"))
		later, why := p.another(1, at(time.Now().Add(3*time.Hour)))
		want(t, "refusal", why, "")
		first, why := p.another(2, at(time.Now().Add(-time.Second)))
		want(t, "refusal of one beside it", why, "")
		soon, why := p.another(3, at(time.Now().Add(30*time.Minute)))
		want(t, "refusal of one that begins beside another", why, "")
		want(t, "status of the first", p.end(first), "success")
		want(t, "status of one whose time came meanwhile", p.status(soon), "killed")
		want(t, "status of one whose time came later", p.end(later), "success")
	})
}

// TestStartAtCrash proves that an attempt begins on time although the server dies before or after any write, either
// while the attempt is created or when its time comes.
func TestStartAtCrash(t *testing.T) {
	t.Parallel()
	crashed := 0
	for call := 1; call <= 20; call++ {
		inBubble(t, func(w *world) {
			p := w.serve()
			p.push("main.dig", "+a: {work>: a}\n+b: {work>: b}\n")
			r := catalogue.StartRequest{Workflow: p.workflow("main").ID, SessionTime: time.Unix(1, 0), Params: param.New(), At: time.Now().Add(time.Hour)}
			calls, dead := 0, false
			w.intercept(func(string, bool) error {
				if calls++; dead || calls == call {
					dead = true
					p.cut()
					return errors.New("crashed")
				}
				return nil
			})
			_, _ = p.Start(t.Context(), r)
			pass(time.Hour + time.Minute)
			p.crash()
			w.intercept(nil)
			if dead {
				crashed++
			}
			p = w.serve()
			a, err := p.Start(t.Context(), r)
			var there *host.Error
			if errors.As(err, &there) && there.Code == host.Conflict {
				a = *there.Existing
			} else {
				w.must(err)
			}
			want(t, "status", p.end(a), "success")
			if n := len(w.ran()); n < 2 || n > 3 {
				t.Errorf("with a crash at call %d there were %d runs", call, n)
			}
		})
	}
	if crashed < 8 {
		t.Errorf("it crashed at %d writes only", crashed)
	}
}

// TestStartAtFraction proves that an attempt does not begin before the requested fraction of a second.
func TestStartAtFraction(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p := w.serve()
		p.push("main.dig", "+a: {work>: a}\n")
		at := time.Now().Add(time.Minute + 300*time.Millisecond)
		a := p.start(1, func(r *catalogue.StartRequest) { r.At = at })
		want(t, "begins", a.StartsAt.Sub(at).Truncate(time.Second), time.Duration(0))
		if a.StartsAt.Before(at) {
			t.Errorf("it begins at %v, before %v", a.StartsAt, at)
		}
		pass(time.Until(at))
		want(t, "runs at that time", len(w.ran()), 0)
		want(t, "status", p.end(a), "success")
	})
}
