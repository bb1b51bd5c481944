package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"zerodag/internal/host"
)

// tokenWrite returns a write that stores a token and then returns err.
func tokenWrite(name string, err error) func(*conn) error {
	return func(c *conn) error {
		if _, e := c.Exec("INSERT INTO tokens (site_id, name, role, token_hash, created_at) VALUES (1, ?, '', ?, 0)", name, []byte(name)); e != nil {
			return e
		}
		return err
	}
}

// together makes writes share one batch, because they wait while the first one runs.
func together(t *testing.T, db *DB, list ...*write) {
	t.Helper()
	hold, held := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		db.writer.do(context.Background(), &write{run: func(*conn) error { close(held); <-hold; return nil }})
	})
	<-held
	for _, o := range list {
		all.Go(func() { db.writer.do(context.Background(), o) })
	}
	for n := 0; n < len(list); {
		db.writer.mu.Lock()
		n = len(db.writer.queue)
		db.writer.mu.Unlock()
	}
	close(hold)
	all.Wait()
}

// TestBatch proves that if a write that shares a commit fails, panics or breaks a constraint, it leaves nothing behind
// and does not affect the others, and that each gets its outcome once.
func TestBatch(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"memory": "", "file": fileOf(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, Options{Path: path})
			told := map[string]int{}
			var list []*write
			add := func(name string, run func(*conn) error) *write {
				o := &write{run: run, after: func() { told[name+" after"]++ }, undo: func() { told[name+" undo"]++ }}
				list = append(list, o)
				return o
			}
			mine := errors.New("mine")
			good := add("good", tokenWrite("good", nil))
			failed := add("failed", tokenWrite("failed", mine))
			broken := add("broken", func(c *conn) error {
				if err := tokenWrite("broken", nil)(c); err != nil {
					return err
				}
				return tokenWrite("broken", nil)(c)
			})
			panicked := add("panicked", func(c *conn) error {
				if err := tokenWrite("panicked", nil)(c); err != nil {
					return err
				}
				panic("on purpose")
			})
			last := add("last", tokenWrite("last", nil))
			together(t, db, list...)
			if good.err != nil || last.err != nil || !errors.Is(failed.err, mine) || broken.err == nil || panicked.err == nil {
				t.Errorf("errors are %v, %v, %v, %v, %v", good.err, failed.err, broken.err, panicked.err, last.err)
			}
			tokens, err := db.List(t.Context(), 1)
			if err != nil || len(tokens) != 2 {
				t.Errorf("%d tokens are there, want good and last: %v, %v", len(tokens), tokens, err)
			}
			if told["good after"] != 1 || told["last after"] != 1 || told["failed after"]+told["broken after"]+told["panicked after"] != 0 || told["failed undo"] == 0 {
				t.Errorf("told: %v", told)
			}
		})
	}
}

// TestSendOfFailedBatch proves that a message whose ID was reserved by a failed write is not lost: the second write
// stores it.
func TestSendOfFailedBatch(t *testing.T) {
	t.Parallel()
	db := open(t, Options{})
	q := db.Queue("tasks")
	lost := q.sending(host.Message{ID: "a", Body: []byte("lost")})
	kept := q.sending(host.Message{ID: "a", Body: []byte("kept")})
	failing := &write{undo: lost.undo, run: func(c *conn) error {
		return errors.Join(lost.run(c), errors.New("on purpose"))
	}}
	sent := &write{run: kept.run, after: kept.after, undo: kept.undo}
	together(t, db, failing, sent)
	if failing.err == nil || sent.err != nil {
		t.Fatalf("errors are %v and %v", failing.err, sent.err)
	}
	if d, err := q.Receive(t.Context(), 1, time.Minute); err != nil || string(d[0].Body) != "kept" {
		t.Errorf("received %q, %v", d[0].Body, err)
	}
}

// TestStoreFails proves that while the store refuses every write, or cannot even be opened, writes fail with
// host.ErrUnavailable and the cause, and none of them are stored; and that the first write after that succeeds.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	db := open(t, Options{Path: fileOf(t)})
	reopen, mended := db.writer.open, false
	readOnly := func() (*conn, error) {
		c, err := reopen()
		if err == nil {
			err = c.script("PRAGMA query_only = ON")
		}
		return c, err
	}
	for name, broken := range map[string]func() (*conn, error){
		"attempt to write a readonly database": readOnly,
		"unable to open database file":         func() (*conn, error) { return dial("file:/nowhere/at/all.db", "journal_mode = WAL") },
	} {
		db.writer.use.Lock()
		if err := db.writer.conn.close(); err != nil {
			t.Fatal(err)
		}
		db.writer.conn, db.writer.open = nil, func() (*conn, error) {
			if mended {
				return reopen()
			}
			return broken()
		}
		db.writer.use.Unlock()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				err := db.write(t.Context(), tokenWrite(fmt.Sprint(i), nil))
				if !errors.Is(err, host.ErrUnavailable) {
					t.Errorf("error is %v", err)
				}
				wantText(t, err, name)
			})
		}
		all.Wait()
		mended = true
		if err := db.write(t.Context(), tokenWrite(name, nil)); err != nil {
			t.Errorf("after the store was mended: %v", err)
		}
		mended = false
	}
	if tokens, err := db.List(t.Context(), 1); err != nil || len(tokens) != 2 {
		t.Errorf("tokens are %v, %v; want those written after", tokens, err)
	}
}

// TestClosed proves that callers that wait while the database is closed get an error, and so do later callers.
func TestClosed(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), Options{Path: fileOf(t), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		_, err := db.Queue("tasks").Receive(context.Background(), 1, time.Minute)
		waited <- err
	}()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, read := db.Projects(t.Context(), host.ProjectQuery{Site: 1})
	for _, err := range []error{<-waited, db.Cancel(t.Context(), 1), db.Queue("tasks").Send(t.Context(), host.Message{ID: "a"}), read} {
		if !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestLargeBodies proves that bodies that are not kept in memory are read when needed.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, Options{Path: fileOf(t)}), t.Context()
	q := db.Queue("tasks")
	for i := range 10 {
		if err := q.Send(ctx, host.Message{ID: fmt.Sprint(i), Body: make([]byte, 1000*i)}); err != nil {
			t.Fatal(err)
		}
	}
	if q.bodies != 10_000 {
		t.Errorf("%d bytes are in memory, want those of the five small ones", q.bodies)
	}
	for i := range 10 {
		d, err := q.Receive(ctx, 1, time.Minute)
		if err != nil || len(d[0].Body) != 1000*i {
			t.Fatalf("message %d has %d bytes (%v)", i, len(d[0].Body), err)
		}
		if err := q.Delete(ctx, d[0]); err != nil {
			t.Fatal(err)
		}
	}
	if q.bodies != 0 {
		t.Errorf("%d bytes are in memory after all was deleted", q.bodies)
	}
}
