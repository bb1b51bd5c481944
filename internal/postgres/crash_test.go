package postgres

import (
	"fmt"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/operators/operatortest/postgres"
)

// TestCrashInCommit proves that a change counts as made only if it is stored, and that it is made only once, even if
// PostgreSQL crashes before or after it receives the commit and reuses the numbers of lost transactions before it is
// asked about them.
func TestCrashInCommit(t *testing.T) {
	t.Parallel()
	whole := t // the test during all of which the server runs
	server := postgres.StartKeeping(t)
	l := &lab{Server: server, room: make(chan struct{}, 1)}
	o := l.options()
	direct := open(t, o)
	p := newProxy(t, server.Port)
	o.settle = 2 * time.Minute // a busy machine restarts the server more slowly than users would wait
	o.URL = l.url(p.port()) + "&application_name=crashing"
	db := open(t, o)
	attempts := setScene(t, direct)
	for name, call := range map[string]struct {
		change func(n int) error
		count  string
	}{
		"record": {func(n int) error {
			return db.Record(t.Context(), host.Record{At: at(0), Site: 1, Who: fmt.Sprint(n)})
		}, "SELECT count(*) FROM @audits WHERE who = ?"},
		"send": {func(n int) error {
			return db.Queue("tasks").Send(t.Context(), host.Message{ID: fmt.Sprint(n)})
		}, "SELECT count(*) FROM @queued_messages WHERE unique_name = ?"},
		"start": {func(n int) error {
			a := attempts.attempt()
			a.RetryName = fmt.Sprint(n)
			_, err := db.Start(t.Context(), a)
			return err
		}, "SELECT count(*) FROM @session_attempts WHERE attempt_name = ?"},
	} {
		for i, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, commit executed: %v", name, after), func(t *testing.T) { // one after the other: they share the server
				if err := call.change(100 + i); err != nil { // its statements are prepared from now on
					t.Fatal(err)
				}
				l.listening(t, "crashing")
				cut := make(chan struct{})
				p.armCommit(after, func() {
					p.shutNow()
					close(cut)
				})
				answer := make(chan error, 1)
				go func() { answer <- call.change(i) }()
				select {
				case <-cut:
				case err := <-answer:
					t.Fatalf("it was not cut, and answers %v", err)
				}
				server.Restart(whole)
				for range 100 {
					server.Rows(t, "SELECT txid_current()") // the lost transaction's number is among these
				}
				p.open()
				if err := <-answer; err != nil {
					t.Errorf("it answers %v", err)
				}
				if n := number(t, direct, call.count, fmt.Sprint(i)); n != 1 {
					t.Errorf("it was made %d times, want once", n)
				}
			})
		}
	}
}
