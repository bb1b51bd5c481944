package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/node"
	"zerodag/operators"
)

// paused returns who paused an attempt, and why.
func (p *process) paused(a host.Attempt) string {
	p.w.t.Helper()
	by, err := p.Paused(p.w.t.Context(), p.row(a))
	p.w.must(err)
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s", by.By, by.Reason)
}

// pause pauses an attempt, or lets it continue, and waits until the change is visible.
func (p *process) pause(a host.Attempt, on bool) {
	p.w.t.Helper()
	var err error
	if on {
		_, err = p.Pause(p.w.t.Context(), a.Site, a.ID, "alice", "the warehouse is down")
	} else {
		_, err = p.Unpause(p.w.t.Context(), a.Site, a.ID)
	}
	p.w.must(err)
	pass(0)
}

// TestPause proves that runs in progress when an attempt is paused end and count, that nothing new begins until it
// continues, neither normally nor after a crash, and that both calls may be repeated, in one process and in several.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"sequence": "+a: {work>: long}\n+b: {work>: b}\n+c: {echo>: c}\n",
		"group":    "+g:\n  +a: {work>: long}\n+h:\n  _parallel: true\n  +b: {work>: b}\n",
		"gated":    "zerodag: 1\n+a: {_if: true, work>: long}\n+b: {_if: true, work>: b}\n",
		"inline":   "+a: {work>: long}\n+l:\n  loop>: 3\n  _do: {echo>: x}\n+b: {work>: b}\n",
	} {
		for _, several := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " in several"}[several], func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					w.on("long", lasting(time.Hour))
					p := w.closingProcess(several)
					a := p.run(text)
					pass(time.Minute)
					want(t, "paused before", p.paused(a), "")
					p.pause(a, true)
					p.pause(a, true)
					want(t, "paused", p.paused(a), "alice: the warehouse is down")
					pass(5 * time.Hour)
					want(t, "runs while it is paused", len(w.ran()), 1)
					want(t, "status", p.status(a), "running")
					if !several {
						p.crash()
						p = w.serve()
						pass(5 * time.Hour)
						want(t, "runs after a crash", len(w.ran()), 1)
					}
					p.pause(a, false)
					want(t, "paused after", p.paused(a), "")
					want(t, "status at the end", p.end(a), "success")
					want(t, "runs", len(w.ran()), 2)
					_, err := p.Pause(t.Context(), a.Site, a.ID, "alice", "")
					want(t, "code of a pause after the end", code(err), host.Conflict)
				})
			})
		}
	}
}

// TestPauseWaits proves that due retries and polls are held, that a remote job is followed to its end, and that time
// limits keep running.
func TestPauseWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, held, end string
		runs            int // before it continues, including runs made while it is paused
		after           int
	}{
		"retry":       {"+a: {_retry: {limit: 1, interval: 600}, work>: fails}", "+a group_retry_waiting", "error", 1, 2},
		"group retry": {"+g:\n  _retry: {limit: 1, interval: 600}\n  +a: {work>: fails}", "+g group_retry_waiting", "error", 1, 2},
		"poll":        {"+a: {work>: polls}", "+a group_retry_waiting", "success", 1, 2},
		"job":         {"+a: {work>: job}\n+b: {work>: b}", "+a success", "success", 2, 3},
		"time limit":  {"zerodag: 1\n+a: {_timeout: {total: 2h}, _retry: {limit: 9, interval: 600}, work>: fails}", "+a error", "error", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				w.on("fails", failing)
				once := func(key string) work {
					return func(_ context.Context, t *operators.Task) (operators.Result, error) {
						if t.State.Has(key) {
							return operators.Result{}, nil
						}
						state := t.State.Clone()
						state.Set(key, int64(1))
						return operators.Result{}, &operators.Later{After: 10 * time.Minute, State: state}
					}
				}
				w.on("polls", once("looked"))
				w.on("job", once("commandStatus"))
				p := w.serve()
				a := p.run(c.text)
				pass(time.Minute)
				p.pause(a, true)
				pass(5 * time.Hour)
				want(t, "runs while it is paused", len(w.ran()), c.runs)
				want(t, "task", p.tasks(a)[1], c.held)
				if p.status(a) == "running" {
					p.pause(a, false)
				}
				want(t, "status", p.end(a), c.end)
				want(t, "runs", len(w.ran()), c.after)
			})
		})
	}
}

// TestPausePool proves that a task of a paused attempt gives up its place in line, so that the next one gets the slot,
// and that the task rejoins at the end of the line when the attempt continues.
func TestPausePool(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("long", lasting(time.Hour))
		p := w.serve()
		p.pool(1)
		first := p.run("zerodag: 1\n+a: {_pool: warehouse, work>: long}\n")
		pass(time.Minute)
		second, third := p.start(2), p.start(3)
		pass(time.Minute)
		p.pause(second, true)
		want(t, "status of the first", p.end(first), "success")
		want(t, "status of the third", p.end(third), "success")
		want(t, "status of the second", p.status(second), "running")
		p.pause(second, false)
		want(t, "status of the second at its end", p.end(second), "success")
		want(t, "runs", len(w.ran()), 3)
	})
}

// TestPauseTurn proves that an attempt that is paused while it waits for its turn gives up its place in line, so that the next
// attempt gets the turn, and returns to its former place when it continues; a kill ends it while it waits.
func TestPauseTurn(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"wait", "latest"} {
		for _, several := range []bool{false, true} {
			t.Run(mode+map[bool]string{false: "", true: " in several"}[several], func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(w *world) {
					d := &desk{}
					w.on("long", d.busy(2*time.Minute))
					p := w.closingProcess(several)
					p.push("main.dig", limited("attempts: 1, on_limit: "+mode))
					next := func(n int) host.Attempt {
						a, _ := p.another(n)
						pass(time.Second)
						return a
					}
					first, second := next(1), next(2)
					p.pause(second, true)
					pass(time.Second)
					p.wantPool(p.turn(""), 1, 0)
					third := next(3)
					p.wantPool(p.turn(""), 1, 1)
					want(t, "status of the first", p.end(first), "success")
					want(t, "status of the third", p.end(third), "success")
					want(t, "status of the second", p.status(second), "running")
					fourth := next(4)
					if mode == "wait" {
						fifth := next(5)
						p.pause(second, false)
						want(t, "status of the fourth", p.end(fourth), "success")
						pass(time.Second)
						want(t, "task of the second, whose turn it is", p.tasks(second)[1], "+a running")
						want(t, "status of the fifth", p.end(fifth), "success")
						want(t, "status of the second", p.status(second), "success")
					} else {
						p.pause(second, false)
						want(t, "status of the fourth", p.end(fourth), "success")
						want(t, "status of the second", p.end(second), "success")
					}
					want(t, "at once", d.most, 1)
					sixth, seventh := next(6), next(7)
					p.pause(seventh, true)
					_, err := p.Kill(t.Context(), seventh.Site, seventh.ID)
					w.must(err)
					want(t, "status of the killed one", p.end(seventh), "killed")
					want(t, "status of the sixth", p.end(sixth), "success")
					p.wantPool(p.turn(""), 0, 0)
				})
			})
		}
	}
}

// TestPauseKill proves that a paused attempt can be killed, and ends at once.
func TestPauseKill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.on("fails", failing)
		p := w.serve(func(o *node.Options) { o.Limits.AttemptTTL = 0 })
		a := p.run("_retry: {limit: 1, interval: 60}\n+a: {work>: fails}\n")
		pass(30 * time.Second)
		p.pause(a, true)
		pass(time.Hour)
		_, err := p.Kill(t.Context(), a.Site, a.ID)
		w.must(err)
		pass(0)
		want(t, "status", p.status(a), "killed")
		want(t, "paused", p.paused(a), "")
		want(t, "state of the root", p.tasks(a)[0], " "+engine.Canceled.String())
	})
}

// TestPauseCrash proves that a pause, and its end, survive a server crash before and after any write: a caller who got
// no response repeats the call, nothing begins until the attempt must continue, and then everything does.
func TestPauseCrash(t *testing.T) {
	t.Parallel()
	crashed := 0
	for at := 1; at <= 30; at++ {
		for _, on := range []bool{true, false} {
			inBubble(t, func(w *world) {
				w.on("long", lasting(time.Hour))
				tries := 0
				w.on("once", func(ctx context.Context, t *operators.Task) (operators.Result, error) {
					if tries++; tries == 1 {
						return failing(ctx, t)
					}
					return operators.Result{}, nil
				})
				p := w.serve()
				a := p.run("zerodag: 1\n_parallel: true\n+a: {work>: long}\n+g:\n  +r: {_retry: {limit: 1, interval: 1800}, work>: once}\n  +b: {_if: true, work>: b}\n")
				pass(time.Minute)
				ask := func() error {
					if on {
						_, err := p.Pause(t.Context(), a.Site, a.ID, "alice", "")
						return err
					}
					_, err := p.Unpause(t.Context(), a.Site, a.ID)
					return err
				}
				if !on {
					p.pause(a, true)
				}
				calls, dead := 0, false
				w.intercept(func(string, bool) error {
					if calls++; dead || calls == at {
						dead = true
						p.cut()
						return errors.New("crashed")
					}
					return nil
				})
				err := ask()
				pass(10 * time.Second)
				p.crash()
				w.intercept(nil)
				if dead {
					crashed++
				}
				p = w.serve()
				if err != nil {
					w.must(ask())
				}
				pass(6 * time.Minute) // the dead server's message is redelivered when its lease has ended
				if on {
					want(t, "paused", p.paused(a), "alice: ")
					pass(5 * time.Hour)
					want(t, "runs of +b while it is paused", runsOf(w, "+main+g+b"), 0)
					p.pause(a, false)
				}
				want(t, "paused at the end", p.paused(a), "")
				want(t, "status", p.end(a), "success")
				want(t, "runs of +b", runsOf(w, "+main+g+b"), 1)
			})
		}
	}
	if crashed < 8 {
		t.Errorf("it crashed at %d writes only", crashed)
	}
}

// runsOf returns how many times a task ran.
func runsOf(w *world, name string) (n int) {
	for _, run := range w.ran() {
		if strings.HasPrefix(run, name+"/") {
			n++
		}
	}
	return n
}
