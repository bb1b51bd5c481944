package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
	"zerodag/operators"
)

// scene is a project with a workflow, for tests that concern other things.
type scene struct {
	workflow host.Workflow
	sessions atomic.Int64
}

func setScene(t testing.TB, db *DB) *scene {
	t.Helper()
	p, err := db.Push(t.Context(), pushOf("demo", "r1"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Workflows(t.Context(), host.WorkflowQuery{Site: 1, Revision: p.Latest.ID})
	if err != nil || len(list) != 1 {
		t.Fatalf("workflows: %v, %v", list, err)
	}
	return &scene{workflow: list[0]}
}

func pushOf(project, revision string) host.Push {
	return host.Push{Site: 1, Project: project, Revision: host.Revision{Name: revision, CreatedAt: at(0), Archive: "a"},
		Workflows: []dig.Workflow{{Name: "main", Zone: "UTC", Config: param.New("+a", param.New("echo>", "x"))}},
		Schedules: map[string]host.NextTimes{"main": func(*host.Schedule, bool) host.Times { return host.Times{Run: at(1 << 20), Session: at(1 << 20)} }}}
}

func at(seconds int64) time.Time { return time.Unix(1_700_000_000+seconds, 0).UTC() }

// attempt describes an attempt of a new session.
func (s *scene) attempt() host.NewAttempt {
	return host.NewAttempt{Site: 1, Project: s.workflow.Project, Workflow: host.Ref{ID: s.workflow.ID, Name: s.workflow.Name}, SessionTime: at(s.sessions.Add(1)), Zone: "UTC",
		Params: param.New(), CreatedAt: at(0), WaitsFor: -1, First: host.Entry{Seq: 1, Nonce: "first", At: at(0), Changes: []byte("start")}, Message: host.Message{ID: "go"}}
}

func (s *scene) start(t testing.TB, db *DB) host.Attempt {
	t.Helper()
	list, err := db.Start(t.Context(), s.attempt())
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// number returns the one number that a statement finds.
func number(t testing.TB, db *DB, sql string, args ...any) int {
	t.Helper()
	n, err := sqlstore.ReadOne(t.Context(), db.Store, (*row).Int, sqlstore.Select(sql, args...))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cutCase is a call whose connection is cut: do must still succeed, and check checks that it was done once. Both run
// for each place of the cut with a different n, which is above 0.
type cutCase struct {
	prepare, do, check func(t *testing.T, n int64) error
	onCut              func()
}

// testCuts proves that a connection that breaks at any request of a call, before the server receives it or before its
// response arrives, neither loses the change nor makes it twice, and that the caller does not notice.
func testCuts(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	direct := open(t, o)
	p := newProxy(t, l.Port)
	o.URL = l.url(p.port()) + "&application_name=proxied"
	db := open(t, o)
	l.listening(t, "proxied")
	s := setScene(t, direct)
	for name, c := range cutCases(s, db, direct) {
		t.Run(name, func(t *testing.T) { // one after the other: they share the proxy
			n := int64(0)
			for _, after := range []bool{false, true} {
				for place := 0; ; place++ { // at 0, the connection is not cut, and the statements are prepared
					n++
					id := n*1000 + int64(len(name))
					if c.prepare != nil {
						if err := c.prepare(t, id); err != nil {
							t.Fatal(err)
						}
					}
					p.arm(place, after, c.onCut)
					err := c.do(t, id)
					missed := p.disarm()
					if err != nil {
						t.Errorf("cut at request %d (after it: %v): %v", place, after, err)
					}
					if err := c.check(t, id); err != nil {
						t.Errorf("cut at request %d (after it: %v): %v", place, after, err)
					}
					if missed {
						if place < 2 {
							t.Error("nothing was cut")
						}
						break
					}
				}
			}
		})
	}
}

func want(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s: %d, want %d", what, got, want)
	}
	return nil
}

func cutCases(s *scene, db, direct *DB) map[string]cutCase {
	made := map[int64]host.Attempt{}
	var taken atomic.Int64 // the message of a case, taken by another server
	fresh := func(t *testing.T, n int64) error {
		made[n] = s.start(t, direct)
		return nil
	}
	return map[string]cutCase{
		"append": {fresh, func(t *testing.T, n int64) error {
			return db.Append(t.Context(), made[n].ID, host.Entry{Seq: 2, Nonce: fmt.Sprint(n), Changes: []byte("c"), Snapshot: []byte("s")})
		}, func(t *testing.T, n int64) error {
			l, err := direct.Load(t.Context(), made[n].ID)
			return errors.Join(err, want("snapshot at", int(l.At), 2))
		}, nil},
		"start": {nil, func(t *testing.T, n int64) error {
			first, second := s.attempt(), s.attempt()
			second.WaitsFor, first.Params = 0, param.New("n", n)
			list, err := db.Start(t.Context(), first, second)
			if err == nil && (len(list) != 2 || list[1].AfterSession != list[0].SessionID) {
				err = fmt.Errorf("started %+v", list)
			}
			made[n] = list[0]
			return err
		}, func(t *testing.T, n int64) error {
			group := fmt.Sprint(made[n].ID)
			return errors.Join(want("attempts", number(t, direct, "SELECT count(*) FROM @session_attempts WHERE params = ?", param.New("n", n)), 1),
				want("messages", number(t, direct, "SELECT count(*) FROM @queued_messages WHERE message_group = ? AND free_at IS NOT NULL", group), 1))
		}, nil},
		"begin": {func(t *testing.T, n int64) error {
			second := s.attempt()
			second.WaitsFor = 0
			list, err := direct.Start(t.Context(), s.attempt(), second)
			if err == nil {
				made[n] = list[1]
			}
			return err
		}, func(t *testing.T, n int64) error {
			return db.Begin(t.Context(), made[n].ID, host.Entry{Seq: 1, Nonce: "b"}, host.Message{ID: "go"})
		}, func(t *testing.T, n int64) error {
			return want("messages", number(t, direct, "SELECT count(*) FROM @queued_messages WHERE message_group = ? AND free_at IS NOT NULL", fmt.Sprint(made[n].ID)), 1)
		}, nil},
		"finish": {fresh, func(t *testing.T, n int64) error {
			return db.Finish(t.Context(), made[n].ID, host.End{At: at(5), Success: true, Archive: []byte("end")})
		}, func(t *testing.T, n int64) error {
			a, err := direct.Attempt(t.Context(), 1, made[n].ID)
			if err == nil && !a.Success {
				err = fmt.Errorf("finished: %+v", a)
			}
			return err
		}, nil},
		"push": {nil, func(t *testing.T, n int64) error {
			_, err := db.Push(t.Context(), pushOf("pushed", fmt.Sprint(n)))
			return err
		}, func(t *testing.T, n int64) error {
			return want("revisions", number(t, direct, "SELECT count(*) FROM @revisions WHERE name = ?", fmt.Sprint(n)), 1)
		}, nil},
		"log": {nil, func(t *testing.T, n int64) error {
			log := NewLogs(db, LogOptions{AgentID: "me"}).Open(operators.Identity{AttemptID: n, TaskName: "+a"}, at(0))
			log.Echo(strings.Repeat("x", gathered)) // as much as one part
			log.Echo("end")
			return log.Close()
		}, func(t *testing.T, n int64) error {
			files, err := NewLogs(direct, LogOptions{}).Files(t.Context(), host.Attempt{ID: n}, "")
			if err != nil || len(files) != 1 {
				return fmt.Errorf("files are %+v, %w", files, err)
			}
			r, _, err := NewLogs(direct, LogOptions{}).File(t.Context(), host.Attempt{ID: n}, files[0].Name)
			if err != nil {
				return err
			}
			return want("bytes of text", len(unpack(t, r)), gathered+len("end"))
		}, nil},
		"blob": {nil, func(t *testing.T, n int64) error {
			return NewBlobs(db).Put(t.Context(), fmt.Sprint(n), strings.NewReader(strings.Repeat("x", blobPart+1)), blobPart+1)
		}, func(t *testing.T, n int64) error {
			r, size, err := NewBlobs(direct).Open(t.Context(), fmt.Sprint(n))
			if err != nil {
				return err
			}
			content, err := io.ReadAll(r)
			return errors.Join(err, want("size", int(size), blobPart+1), want("bytes", len(content), blobPart+1))
		}, nil},
		"forget": {func(t *testing.T, n int64) error {
			for range 2 {
				if err := fresh(t, n); err != nil {
					return err
				}
				if err := direct.Finish(t.Context(), made[n].ID, host.End{At: at(5)}); err != nil {
					return err
				}
			}
			return nil
		}, func(t *testing.T, n int64) error {
			cleared := 0
			gone, err := db.Forget(t.Context(), 1, made[n].SessionID-1, at(1<<20), func(_ context.Context, list []host.Attempt) error {
				cleared = len(list)
				return nil
			})
			if err == nil && !gone {
				err = errors.New("it stayed")
			}
			return errors.Join(err, want("attempts that were told of", cleared, 1))
		}, func(t *testing.T, n int64) error {
			return want("sessions", number(t, direct, "SELECT count(*) FROM @sessions WHERE id = ?", made[n].SessionID-1), 0)
		}, nil},
		"audit": {nil, func(t *testing.T, n int64) error {
			return db.Record(t.Context(), host.Record{At: at(0), Site: 1, Who: "me", Action: "push", Target: fmt.Sprint(n)})
		}, func(t *testing.T, n int64) error {
			return want("records", number(t, direct, "SELECT count(*) FROM @audits WHERE target = ?", fmt.Sprint(n)), 1)
		}, nil},
		"token": {nil, func(t *testing.T, n int64) error {
			_, err := db.Create(t.Context(), host.Token{Site: 1, Name: "x", Role: "viewer", Hash: fmt.Append(nil, n), CreatedAt: at(0)})
			return err
		}, func(t *testing.T, n int64) error {
			_, err := direct.ByHash(t.Context(), fmt.Append(nil, n))
			return err
		}, nil},
		// Changes that another server made to the message before the response is repeated must not be undone.
		"send": {func(*testing.T, int64) error {
			taken.Store(0)
			return nil
		}, func(t *testing.T, n int64) error {
			return db.Queue("tasks").Send(t.Context(), host.Message{ID: fmt.Sprint(n)})
		}, func(t *testing.T, n int64) error {
			left := number(t, direct, "SELECT count(*) FROM @queued_messages WHERE queue = 2")
			consume(direct, "tasks", 10*time.Second, left)
			return want("times the message was there", int(taken.Load())+left, 1)
		}, func() { taken.Add(int64(consume(direct, "tasks", 100*time.Millisecond, 1))) }},
		"receive": {func(t *testing.T, n int64) error {
			return direct.Queue("events").Send(t.Context(), host.Message{ID: fmt.Sprint(n), Body: []byte("x")})
		}, func(t *testing.T, n int64) error {
			for { // there are also messages of other cases
				list, err := db.Queue("events").Receive(t.Context(), 1, time.Hour)
				if err != nil {
					return err
				}
				if err := db.Queue("events").Delete(t.Context(), list[0]); err != nil {
					return err
				}
				if list[0].ID == fmt.Sprint(n) {
					return want("times received", list[0].Count, 1)
				}
			}
		}, func(t *testing.T, n int64) error {
			return want("messages", number(t, direct, "SELECT count(*) FROM @queued_messages WHERE queue = 1 AND unique_name = ?", fmt.Sprint(n)), 0)
		}, nil},
	}
}

// testDoubt proves that the store does not repeat a change whose outcome is unknown: the caller gets an error saying
// that the database does not respond, and finds the change made once.
func testDoubt(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	direct := open(t, o)
	p := newProxy(t, l.Port)
	o.URL, o.settle = l.url(p.port())+"&application_name=doubtful", 300*time.Millisecond
	db := open(t, o)
	l.listening(t, "doubtful")
	record := func() error { return db.Record(t.Context(), host.Record{At: at(0), Site: 1, Who: "me"}) }
	if err := record(); err != nil {
		t.Fatal(err)
	}
	p.arm(3, true, p.shutNow) // the commit
	err := record()
	wantText(t, err, "cannot be determined")
	if !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("the error is %v, want %v", err, host.ErrUnavailable)
	}
	if n := number(t, direct, "SELECT count(*) FROM @audits"); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	if _, err := db.Attempt(t.Context(), 1, 1); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("while the server is away a read answers %v, want %v", err, host.ErrUnavailable)
	}
	p.open()
	if err := record(); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}

// FuzzReceipt proves that no receipt makes the reader panic, and that it accepts only receipts.
func FuzzReceipt(f *testing.F) {
	for _, text := range []string{"", "1.2", "1.", ".2", "-1.2", "1.2.3", "9223372036854775808.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, receipt, ok := parseReceipt(text)
		if ok && (id <= 0 || receipt <= 0) {
			t.Errorf("%q is message %d under %d", text, id, receipt)
		}
		if again, r, ok := parseReceipt(fmt.Sprintf("%d.%d", id, receipt)); ok && (again != id || r != receipt) {
			t.Errorf("%d.%d is read as %d.%d", id, receipt, again, r)
		}
	})
}

// consume receives and deletes up to n messages that arrive within wait, and returns their number.
func consume(db *DB, queue string, wait time.Duration, n int) (taken int) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for taken < n {
		list, err := db.Queue(queue).Receive(ctx, 1, time.Hour)
		if err != nil {
			return taken
		}
		taken++
		if db.Queue(queue).Delete(context.Background(), list[0]) != nil {
			return taken - 1 // the last one is received again
		}
	}
	return taken
}

// testListener proves that receivers are woken at once although the connections of their server are cut repeatedly, and
// that nothing is lost. No poll helps here.
func testListener(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	o.poll, o.URL = time.Hour, o.URL+"&application_name=cut"
	one, two := open(t, o), open(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	const messages = 300
	arrived := make(chan string, 2*messages)
	var all sync.WaitGroup
	receiving, stop := context.WithCancel(ctx)
	for range 3 {
		all.Go(func() {
			for {
				list, err := one.Queue("events").Receive(receiving, 2, 2*time.Second)
				if receiving.Err() != nil {
					return
				}
				if err != nil {
					continue // the server is down for longer than a call waits
				}
				for _, d := range list {
					if err := one.Queue("events").Delete(ctx, d); err != nil {
						t.Errorf("delete: %v", err)
					}
					arrived <- d.ID
				}
			}
		})
	}
	cutting := make(chan struct{})
	all.Go(func() {
		for {
			select {
			case <-cutting:
				return
			case <-time.After(30 * time.Millisecond):
				l.Rows(t, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'cut' AND (query LIKE 'LISTEN %' OR random() < 0.1)")
			}
		}
	})
	for i := range messages {
		if err := two.Queue("events").Send(ctx, host.Message{ID: fmt.Sprint(i), Group: fmt.Sprint(i % 7)}); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
	close(cutting)
	have := map[string]bool{}
	for len(have) < messages {
		select {
		case id := <-arrived:
			have[id] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d messages arrived; left are %d", len(have), messages, number(t, two, "SELECT count(*) FROM @queued_messages"))
		}
	}
	stop()
	all.Wait()
}
