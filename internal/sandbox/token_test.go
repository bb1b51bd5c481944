package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/sandbox"
	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// counted counts the calls of stores.
type counted struct {
	*sandboxtest.Memory
	calls []string
}

func (c *counted) count(name string) { c.calls = append(c.calls, name) }

func (c *counted) Runner(ctx context.Context, name string) (sandbox.Runner, error) {
	c.count("Runner")
	return c.Memory.Runner(ctx, name)
}

func (c *counted) Join(ctx context.Context, name string, hash []byte, at time.Time) (sandbox.Runner, error) {
	c.count("Join")
	return c.Memory.Join(ctx, name, hash, at)
}

func (c *counted) Beat(ctx context.Context, name string, at time.Time, load int) (sandbox.Runner, error) {
	c.count("Beat")
	return c.Memory.Beat(ctx, name, at, load)
}

func (c *counted) Command(ctx context.Context, attempt int64, key string) (sandbox.Command, error) {
	c.count("Command")
	return c.Memory.Command(ctx, attempt, key)
}

func (c *counted) Waiting(ctx context.Context, attempt int64, class string, n int) ([]sandbox.Command, error) {
	c.count("Waiting")
	return c.Memory.Waiting(ctx, attempt, class, n)
}

func (c *counted) of(name string) (n int) {
	for _, x := range c.calls {
		if x == name {
			n++
		}
	}
	return n
}

// counting counts the calls of a bench's stores from now on.
func (b *bench) counting() *counted {
	c := &counted{Memory: b.memory}
	b.Service.Commands, b.Service.Work, b.Service.Runners, b.Service.Liveness = c, c, c, c
	return c
}

// ask sends a runner's request to the handler.
func (b *bench) ask(path, token string, body any) *httptest.ResponseRecorder {
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, sandbox.HandlerPath+path, bytes.NewReader(text))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return w
}

// TestForgedPolls proves that 2,000 requests with tokens that were not signed here read nothing
// from a store.
func TestForgedPolls(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 1})
		c := b.counting()
		pass := r.Token()
		for i := range 2000 {
			forged := []string{
				strings.Replace(pass, "p1.", "t1.", 1),
				pass[:len(pass)-43] + rand.Text() + rand.Text()[:17],
				strings.Replace(pass, r.Name(), fmt.Sprintf("%d-%s-%d-%s", i, r.Class, 0, r.ID), 1),
				fmt.Sprintf("%d-%s-0-bymaqjfrkp5t.%s", i, r.Class, rand.Text()),
				"p1.00000000." + r.Name() + "." + rand.Text() + pass[strings.LastIndex(pass, "."):],
				"", "x", r.Name(), "." + rand.Text(),
			}[i%9]
			path := []string{"poll", "finish", "url", "join"}[i%4]
			if w := b.ask(path, forged, map[string]any{"free": 1}); w.Code != http.StatusGone && w.Code != http.StatusServiceUnavailable {
				t.Fatalf("%s with %q is answered: %d %s", path, forged, w.Code, w.Body)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if len(c.calls) > 0 {
			t.Errorf("the stores were called %d times: %v", len(c.calls), c.calls)
		}
		if o := b.poll(r, sandbox.Beat{Free: 0, Running: []string{"2.0"}}); len(o.Kill) != 0 {
			t.Errorf("the machine itself: %+v", o)
		}
	})
}

// TestForged proves that a runner cannot act on commands that it has not claimed, nor name others' blobs as its output,
// and that a ticket can only be used to join.
func TestForged(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		b.submit(2)
		b.submit(3, func(c *operators.Command) { c.Sandbox.Fresh = true })
		one, other := b.fake.runners[0], b.fake.runners[1]
		b.poll(one, sandbox.Beat{Free: 1})
		b.poll(other, sandbox.Beat{Free: 1})
		if _, err := b.Poll(t.Context(), one.ticket, sandbox.Beat{Free: 1}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("a ticket polls: %v", err)
		}
		if _, err := b.Join(t.Context(), one.Token(), sandbox.Joining{Secret: rand.Text()}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("a pass joins: %v", err)
		}
		for _, secret := range []string{"", "x", strings.ToLower(rand.Text()), rand.Text() + "."} {
			if _, err := b.Join(t.Context(), one.ticket, sandbox.Joining{Secret: secret}); !errors.Is(err, sandbox.ErrGone) || len(b.alarms) > 0 {
				t.Errorf("the secret %q: %v, %v", secret, err, b.alarms)
			}
		}
		if err := b.Finish(t.Context(), one.Token(), "3.0", sandbox.Result{}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("the end of another one's command: %v", err)
		}
		if _, _, err := b.URL(t.Context(), one.Token(), "3.0", sandbox.Upload{Kind: "log"}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("the log of another one's command: %v", err)
		}
		if err := b.Finish(t.Context(), one.Token(), "2.0", sandbox.Result{Blobs: map[string]string{"o": "archives/secret"}}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("a blob of another as output: %v", err)
		}
	})
}

// TestTicket proves that a machine joins once, however often it repeats the call, that the ticket alone gives no
// access, and that a second holder ends the runner for both and raises one alarm: the runner's commands run again, and
// its reports no longer count.
func TestTicket(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		secret := rand.Text()
		first, err := b.Join(t.Context(), r.ticket, sandbox.Joining{Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := b.Join(t.Context(), r.ticket, sandbox.Joining{Secret: secret}); err != nil || again != first {
			t.Errorf("said again: %+v instead of %+v, %v", again, first, err)
		}
		if o, err := b.Poll(t.Context(), first.Pass, sandbox.Beat{Free: 1}); err != nil || len(o.Commands) != 1 {
			t.Fatalf("%+v, %v", o, err)
		}
		for range 2 {
			if second, err := b.Join(t.Context(), r.ticket, sandbox.Joining{Secret: rand.Text()}); !errors.Is(err, sandbox.ErrGone) || second.Pass != "" {
				t.Errorf("a second one has %+v, %v", second, err)
			}
		}
		if len(b.alarms) != 1 || !strings.Contains(b.alarms[0], "Two callers used the ticket") || strings.Contains(b.alarms[0], secret) {
			t.Errorf("told: %q", b.alarms)
		}
		if _, err := b.Poll(t.Context(), first.Pass, sandbox.Beat{Running: []string{"2.0"}}); !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("the first one is heard: %v", err)
		}
		if err := b.check(); err != nil || len(b.fake.stopped) != 1 || len(b.woke) != 0 {
			t.Errorf("stopped %v, woke %v, %v", b.fake.stopped, b.woke, err)
		}
		b.fake.ends(r, "it was asked to")
		if err := b.check(); err != nil || len(b.woke) != 1 {
			t.Errorf("woke %v, %v", b.woke, err)
		}
		if _, err := b.again(2, 2, p); !errors.As(err, &p) || len(b.fake.runners) != 2 || b.fake.runners[1].ticket == r.ticket {
			t.Errorf("it does not run again: %v", err)
		}
	})
}

// TestFirstHasGone proves that an alarm about a ticket that was shown twice is raised even if the first holder was gone
// before the second one came, because it reported a result and left or because it was ended. The machine gets time to
// come up, and in the end no row is left.
func TestFirstHasGone(t *testing.T) {
	for name, gone := range map[string]func(*bench, string){
		"left": func(b *bench, pass string) {
			if err := b.Finish(b.t.Context(), pass, "2.0", sandbox.Result{}); err != nil {
				b.t.Fatal(err)
			}
			if o, err := b.Poll(b.t.Context(), pass, sandbox.Beat{Free: 4, Idle: 61_000}); err != nil || !o.Leave {
				b.t.Fatal(o, err)
			}
		},
		"left a command": func(b *bench, pass string) {
			if o, err := b.Poll(b.t.Context(), pass, sandbox.Beat{Idle: 61_000}); err != nil || !o.Leave {
				b.t.Fatal(o, err)
			}
		},
		"killed": func(b *bench, _ string) {
			if err := b.For(sandboxtest.Task(1, 2, 2), "a").Stop(b.t.Context(), param.New("command", "2.0")); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			timed(t, func(t *testing.T) {
				b := newBench(t)
				b.submit(2)
				r := b.fake.runners[0]
				if o := b.poll(r, sandbox.Beat{Free: 4}); len(o.Commands) != 1 {
					t.Fatal(o)
				}
				gone(b, r.Token())
				stopped := len(b.fake.stopped)
				time.Sleep(9 * time.Minute)
				if err := b.check(); err != nil || name != "killed" && len(b.fake.stopped) != stopped {
					t.Errorf("the machine is stopped before it has come up: %v, %v", b.fake.stopped, err)
				}
				for range 2 {
					if _, err := b.Join(t.Context(), r.ticket, sandbox.Joining{Secret: rand.Text()}); !errors.Is(err, sandbox.ErrGone) {
						t.Errorf("the machine is told: %v", err)
					}
				}
				if len(b.alarms) != 1 {
					t.Errorf("people are told %q", b.alarms)
				}
				if err := b.check(); err != nil || len(b.fake.stopped) == stopped {
					t.Errorf("the machine is not stopped: %v", err)
				}
				b.fake.ends(r, "it has ended")
				if err := b.check(); err != nil {
					t.Error(err)
				}
				row, err := b.memory.Command(t.Context(), 1, "2.0")
				if _, there := b.memory.Runner(t.Context(), r.Name()); !errors.Is(there, host.ErrNotFound) || err != nil || row.State != sandbox.Over {
					t.Errorf("its row: %v; the command: %+v, %v", there, row, err)
				}
			})
		})
	}
}

// TestLeftAndStays proves that the machine of a runner that has left is stopped if it does not end.
func TestLeftAndStays(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		p := b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 4})
		if err := b.Finish(t.Context(), r.Token(), "2.0", sandbox.Result{}); err != nil {
			t.Fatal(err)
		}
		if o := b.poll(r, sandbox.Beat{Free: 4, Idle: 61_000}); !o.Leave {
			t.Fatal(o)
		}
		if exit, err := b.again(2, 2, p); err != nil || exit.Code != 0 {
			t.Errorf("its command: %+v, %v", exit, err)
		}
		time.Sleep(11 * time.Minute)
		if err := b.check(); err != nil || len(b.fake.stopped) != 1 || len(b.alarms) != 0 {
			t.Errorf("stopped %v, told %q, %v", b.fake.stopped, b.alarms, err)
		}
		if err := b.Stopped(t.Context(), r.Name(), "it was asked to", sandbox.Lost); err != nil {
			t.Error(err)
		}
		if list, err := b.memory.Runners(t.Context(), 0); err != nil || len(list) != 0 {
			t.Errorf("left: %+v, %v", list, err)
		}
	})
}

// cutOff is a store that records that a ticket was shown twice, and whose caller ends before it gets the response.
type cutOff struct{ *sandboxtest.Memory }

func (c cutOff) ShownTwice(ctx context.Context, name, why string) (sandbox.Runner, error) {
	c.Memory.ShownTwice(ctx, name, why)
	return sandbox.Runner{}, host.ErrUnavailable
}

// TestToldAtLast proves that the alarm about a ticket that was shown twice is raised once, whatever happens in between:
// a lost response from the store, a process that is cut off, an unavailable topic, or the end of the machine.
func TestToldAtLast(t *testing.T) {
	for name, hinder := range map[string]func(*bench){
		"cut off":    func(b *bench) { b.Service.Fences = cutOff{b.memory} },
		"topic away": func(b *bench) { b.Alarm = func(context.Context, string) error { return host.ErrUnavailable } },
	} {
		t.Run(name, func(t *testing.T) {
			timed(t, func(t *testing.T) {
				b := newBench(t)
				b.submit(2)
				r := b.fake.runners[0]
				b.join(r)
				tell := b.Alarm
				hinder(b)
				if _, err := b.Join(t.Context(), r.ticket, sandbox.Joining{Secret: rand.Text()}); err == nil || len(b.alarms) != 0 {
					t.Fatalf("a second one joins: %v, %q", err, b.alarms)
				}
				b.fake.ends(r, "it was asked to")
				if name == "topic away" && b.check() == nil {
					t.Error("nobody knows that the topic is away")
				}
				b.Service.Fences, b.Alarm = b.memory, tell
				for range 3 {
					if err := b.check(); err != nil {
						t.Error(err)
					}
				}
				if _, err := b.memory.Runner(t.Context(), r.Name()); len(b.alarms) != 1 || !errors.Is(err, host.ErrNotFound) {
					t.Errorf("told: %q; its row: %v", b.alarms, err)
				}
			})
		})
	}
}

// TestKeysChange proves that keys can be changed while machines run: tokens signed by an earlier key are accepted while
// that key exists, and an unreadable key ends no machine.
func TestKeysChange(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		text, broken, reads := sandbox.NewKey(), error(nil), 0
		b.Keys = &sandbox.Keyring{Read: func(context.Context) (string, error) { reads++; return text, broken }}
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 1})
		was := text
		text = sandbox.NewKey() + "\n" + was
		time.Sleep(5 * time.Minute)
		b.poll(r, sandbox.Beat{Running: []string{"2.0"}})
		b.submit(3, func(c *operators.Command) { c.Sandbox.Fresh = true })
		if ticket := b.fake.runners[1].ticket; strings.Split(ticket, ".")[1] == strings.Split(r.ticket, ".")[1] {
			t.Error("the first key does not sign")
		}
		broken = host.ErrUnavailable
		time.Sleep(time.Hour)
		before := reads
		for range 100 {
			b.poll(r, sandbox.Beat{Running: []string{"2.0"}})
		}
		if reads > before+1 {
			t.Errorf("keys that cannot be read were asked for %d times", reads-before)
		}
		text, broken = sandbox.NewKey(), nil
		time.Sleep(5 * time.Minute)
		if _, err := b.Poll(t.Context(), r.Token(), sandbox.Beat{}); !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("without its key: %v", err)
		}
	})
}

// hanging returns a key ring whose store does not respond while hangs is set.
func hanging(hangs *bool) *sandbox.Keyring {
	text := sandbox.NewKey()
	return &sandbox.Keyring{Read: func(ctx context.Context) (string, error) {
		if *hangs {
			<-ctx.Done()
			return "", fmt.Errorf("read parameter: %w", ctx.Err())
		}
		return text, nil
	}}
}

// TestKeysThatHang proves that a machine whose key is known gets its response within seconds even if the key store
// never responds.
func TestKeysThatHang(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		hangs := false
		b.Keys = hanging(&hangs)
		b.submit(2)
		r := b.fake.runners[0]
		b.poll(r, sandbox.Beat{Free: 1})
		hangs = true
		time.Sleep(10 * time.Minute)
		began := time.Now()
		b.poll(r, sandbox.Beat{Running: []string{"2.0"}})
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it was answered after %v", took)
		}
	})
}

// TestKeysThatNeverCame proves that a task that needs a key that the store does not return in time asks again later:
// its command does not fail, and runs once the store responds.
func TestKeysThatNeverCame(t *testing.T) {
	timed(t, func(t *testing.T) {
		b := newBench(t)
		hangs := true
		b.Keys = hanging(&hangs)
		p := b.submit(2)
		if len(b.fake.runners) > 0 {
			t.Fatal("a machine was launched without a key")
		}
		hangs = false
		time.Sleep(time.Minute)
		if _, err := b.again(2, 2, p); !errors.As(err, &p) {
			t.Fatalf("it is not pending: %v", err)
		}
		if got := b.poll(b.fake.runners[0], sandbox.Beat{Free: 1}); len(got.Commands) != 1 {
			t.Errorf("nothing is to be run: %+v", got)
		}
	})
}

// TestKeysMade proves that two processes that launch machines at the same time use the same key, and that a value
// without keys is refused without being shown.
func TestKeysMade(t *testing.T) {
	timed(t, func(t *testing.T) {
		one := sandboxtest.Keys()
		two := &sandbox.Keyring{Read: one.Read, Make: func(ctx context.Context, text string) error {
			return one.Make(ctx, sandbox.NewKey()) // the other process was first
		}}
		first, second := newBench(t), newBench(t)
		first.Keys, second.Keys = two, one
		first.submit(2)
		second.submit(2)
		if a, b := first.fake.runners[0], second.fake.runners[0]; strings.Split(a.ticket, ".")[1] != strings.Split(b.ticket, ".")[1] {
			t.Errorf("two keys: %s and %s", a.ticket, b.ticket)
		}
		for _, text := range []string{"", " ", "c2hvcnQ=", "not base64 but secret", sandbox.NewKey() + " secret"} {
			b := newBench(t)
			b.Keys = &sandbox.Keyring{Read: func(context.Context) (string, error) { return text, nil }}
			_, err := b.For(sandboxtest.Task(1, 2, 1), "a").Run(t.Context(), operators.Command{Args: []string{"sh"}})
			var p *operators.Pending
			if err == nil || errors.As(err, &p) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

// TestPolls prints and limits a machine's requests per minute, and their cost for the table: a busy or idle machine
// writes at most six times.
func TestPolls(t *testing.T) {
	timed(t, func(t *testing.T) {
		for _, x := range []struct {
			what         string
			running      int
			polls, beats int
		}{
			{"all its places are taken", 4, 6, 6},
			{"two of four are taken, nothing new for ten minutes", 2, 6, 6},
			{"nothing to do, the first minute", 0, 36, 6},
		} {
			b := newBench(t)
			for i := range max(1, x.running) {
				b.submit(int64(i + 2))
			}
			r := b.fake.runners[0]
			beat := sandbox.Beat{Free: 4, Running: []string{}}
			for _, o := range b.poll(r, beat).Commands {
				if x.running > 0 {
					beat.Running = append(beat.Running, o.Key)
				} else if err := b.Finish(t.Context(), r.Token(), o.Key, sandbox.Result{}); err != nil {
					t.Fatal(err)
				}
			}
			beat.Free = 4 - len(beat.Running)
			b.poll(r, beat)
			c := b.counting()
			began, idle := time.Now(), time.Duration(0)
			if x.running > 0 {
				idle = 10 * time.Minute
			}
			polls := 0
			for at := idle; time.Since(began) < time.Minute; at = idle + time.Since(began) {
				beat.Idle = at.Milliseconds()
				o := b.poll(r, beat)
				polls++
				time.Sleep(time.Duration(o.Wait) * time.Millisecond)
			}
			t.Logf("%s: %d polls a minute, %d writes and %d reads of its row, %d reads of commands, %d looks for commands", x.what, polls, c.of("Beat"), c.of("Runner"), c.of("Command"), c.of("Waiting"))
			if polls > x.polls || c.of("Beat") > x.beats {
				t.Errorf("%s: %d polls and %d writes, want at most %d and %d", x.what, polls, c.of("Beat"), x.polls, x.beats)
			}
		}
	})
}

// FuzzToken proves that only strings signed here are accepted as tokens: any other string is refused, and no store is
// queried for the machine that it names.
func FuzzToken(f *testing.F) {
	ctx := context.Background()
	keys := sandboxtest.Keys()
	memory := sandboxtest.NewMemory()
	var genuine []string
	launcher := &fake{over: map[string]string{}}
	s := sandbox.New(sandbox.Options{Commands: memory, Work: memory, Runners: memory, Liveness: memory, Fences: memory, Launcher: launcher, Links: links{}, Keys: keys, Default: sandbox.Class{Image: "i"},
		Attempt: func(context.Context, int64, int64) (host.Attempt, error) { return host.Attempt{}, nil }})
	s.Prepare(ctx, sandboxtest.Task(1, 2, 1), operators.Sandbox{})
	r := launcher.runners[0]
	joined, err := s.Join(ctx, r.ticket, sandbox.Joining{Secret: rand.Text()})
	if err != nil {
		f.Fatal(err)
	}
	genuine = append(genuine, joined.Pass)
	f.Add(r.ticket)
	f.Add(joined.Pass)
	f.Add(r.Name() + ".secret")
	f.Add("p1..1-k-0-x..")
	c := &counted{Memory: memory}
	s.Runners, s.Liveness = c, c
	f.Fuzz(func(t *testing.T, text string) {
		c.calls = nil
		_, err := s.Poll(ctx, text, sandbox.Beat{Free: 1})
		if text != genuine[0] && (err == nil || c.of("Runner") > 0) {
			t.Errorf("%q is taken for a token: %v, %v", text, err, c.calls)
		}
	})
}
