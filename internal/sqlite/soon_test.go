package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
)

// commits counts the transactions in SQLite's write-ahead log: the last page of each transaction is stored with the
// database's size.
func commits(t *testing.T, path string) int {
	t.Helper()
	const head, frame = 32, 24
	text, err := os.ReadFile(path + "-wal")
	if err != nil || len(text) < head {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	page, n := int(binary.BigEndian.Uint32(text[8:])), 0
	for at := head; at+frame+page <= len(text); at += frame + page {
		if binary.BigEndian.Uint32(text[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// TestCommitsOfACommand proves that a server makes two commits for a command that prints little: one records the
// receipt of its message and the deletion of the previous message, the other its result and its log. Each accounts for
// a third of what a short command costs.
func TestCommitsOfACommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no write is committed merely because time passes
		path := fileOf(t)
		db := open(t, Options{Path: path})
		id, ctx, q := started(t, db, 1)[0], t.Context(), db.Queue("tasks")
		const n = 20
		for i := range n {
			if err := q.Send(ctx, host.Message{ID: fmt.Sprint(i), Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		before := commits(t, path)
		for i := range n {
			d, err := q.Receive(ctx, 1, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			settled := false
			err = errors.Join(db.AddLogSoon(id, d[0].ID, []byte("log"), func(err error) { settled = err == nil }),
				db.Append(ctx, id, host.Entry{Seq: int64(i) + 2, Nonce: "n"}), q.Delete(ctx, d[0]))
			if err != nil || !settled {
				t.Fatalf("settled %v, %v", settled, err)
			}
		}
		if got := commits(t, path) - before; got != 2*n {
			t.Errorf("%d commits for %d commands, want two for each", got, n)
		}
	})
}

// TestLogsAreThereSoon proves that every reader finds a log that no caller waited for (another process finds it after a
// while or after Close), and that a log that arrives after Close is refused.
func TestLogsAreThereSoon(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	synctest.Test(t, func(t *testing.T) {
		db, ctx := open(t, Options{Path: path}), t.Context()
		var told []error
		add := func(name string) error {
			return db.AddLogSoon(7, name, []byte(name), func(err error) { told = append(told, err) })
		}
		if err := add("a"); err != nil {
			t.Fatal(err)
		}
		if got, err := db.LogContent(ctx, 7, "a"); err != nil || string(got) != "a" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := add("b"); err != nil || len(told) != 1 {
			t.Fatal(told, err)
		}
		n := 0
		if err := db.LogSizes(ctx, 7, "", func(string, int64) { n++ }); err != nil || n != 2 {
			t.Errorf("%d are listed, %v", n, err)
		}
		if err := add("c"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lazily)
		synctest.Wait()
		if len(told) != 3 {
			t.Errorf("after a while %d of 3 are settled", len(told))
		}
		if err := errors.Join(add("d"), db.Close()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(told...); err != nil || len(told) != 4 {
			t.Errorf("told %v", told)
		}
		if err := add("e"); !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	})
	n := 0
	if err := open(t, Options{Path: path}).LogSizes(t.Context(), 7, "", func(string, int64) { n++ }); err != nil || n != 4 {
		t.Errorf("%d are there when it is opened again, %v", n, err)
	}
}

// TestLogBeforeItsResult proves that a result is not committed while the store refuses the log before it,
// even if it would accept the result alone, and that the result is committed eventually if the log stays too large.
func TestLogBeforeItsResult(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	synctest.Test(t, func(t *testing.T) {
		db, ctx := open(t, Options{Path: path}), t.Context()
		id := started(t, db, 1)[0]
		large := &write{whole: true, lasting: true, ordered: true, run: func(c *conn) error {
			_, err := c.Exec("INSERT INTO nowhere VALUES (1)") // an SQLite error
			return fmt.Errorf("%w: %w", host.ErrUnavailable, err)
		}}
		if err := db.writer.later(large); err != nil {
			t.Fatal(err)
		}
		refusedAt := 0
		for range 10 {
			if err := db.Append(ctx, id, host.Entry{Seq: 2, Nonce: "n"}); err == nil {
				break
			} else if !errors.Is(err, host.ErrUnavailable) {
				t.Fatal(err)
			}
			refusedAt++
		}
		if refusedAt != mostOrdered-1 {
			t.Errorf("the result was refused %d times, want %d", refusedAt, mostOrdered-1)
		}
	})
}

// TestUnimportantWrites proves that writes that may be dropped are dropped when the store refuses them, so that nothing
// grows with the requests during an outage.
func TestUnimportantWrites(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	synctest.Test(t, func(t *testing.T) {
		db := open(t, Options{Path: path})
		fail := func(*conn) error { return fmt.Errorf("%w: on purpose", host.ErrUnavailable) }
		for range 50 {
			if err := db.writer.later(&write{whole: true, run: fail}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lazily)
			synctest.Wait()
		}
		db.writer.mu.Lock()
		defer db.writer.mu.Unlock()
		if n := len(db.writer.queue) + len(db.writer.refused); n > 1 {
			t.Errorf("%d writes wait", n)
		}
	})
}

// TestManyThatNoCallerWaitsFor proves that a write gets a response while the store refuses more than a batch of earlier
// writes, and that those writes are stored before it once the store works again.
func TestManyThatNoCallerWaitsFor(t *testing.T) {
	t.Parallel()
	const n = batch + 100
	path := fileOf(t)
	synctest.Test(t, func(t *testing.T) {
		db, ctx := open(t, Options{Path: path}), t.Context()
		id := started(t, db, 1)[0]
		reopen := db.writer.open
		fail := func() (*conn, error) { return nil, fmt.Errorf("%w: on purpose", host.ErrUnavailable) }
		store := func(open func() (*conn, error)) {
			db.writer.use.Lock()
			defer db.writer.use.Unlock()
			db.writer.doubt()
			db.writer.open = open
		}
		store(fail)
		for i := range n {
			if err := db.AddLogSoon(id, fmt.Sprint(i), []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
		}
		e := host.Entry{Seq: 2, Nonce: "n"}
		for range 2 {
			if err := db.Append(ctx, id, e); !errors.Is(err, host.ErrUnavailable) {
				t.Errorf("append: %v", err)
			}
		}
		store(reopen)
		if err := db.Append(ctx, id, e); err != nil {
			t.Fatal(err)
		}
		logs := 0
		if err := db.reader.read(ctx, func(c *conn) error {
			return c.Query(func(r *row) { logs = int(r.ID()) }, "SELECT count(*) FROM task_logs")
		}); err != nil || logs != n {
			t.Errorf("%d of %d logs are there with the entry after them, %v", logs, n, err)
		}
	})
}

// TestStoreFailsSoon proves that writes that no caller waits for are retried when the store has refused them: a log is
// stored before a later result, a message whose deletion was refused is not redelivered and is gone when the store
// works again, and a log that is refused until the end is reported.
func TestStoreFailsSoon(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	synctest.Test(t, func(t *testing.T) {
		db, ctx := open(t, Options{Path: path}), t.Context()
		id, q := started(t, db, 1)[0], db.Queue("tasks")
		if err := q.Send(ctx, host.Message{ID: "1/a"}); err != nil {
			t.Fatal(err)
		}
		d, err := q.Receive(ctx, 1, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		reopen := db.writer.open
		works := func(yes bool) {
			db.writer.use.Lock()
			defer db.writer.use.Unlock()
			db.writer.open = reopen
			if !yes {
				db.writer.doubt()
				db.writer.open = func() (*conn, error) { return nil, fmt.Errorf("%w: on purpose", host.ErrUnavailable) }
			}
		}
		told := map[string]error{}
		add := func(name string) error {
			return db.AddLogSoon(id, name, []byte(name), func(err error) { told[name] = err })
		}
		works(false)
		if err := errors.Join(add("a"), q.Delete(ctx, d[0])); err != nil {
			t.Fatal(err)
		}
		e := host.Entry{Seq: 2, Nonce: "n"}
		if err := db.Append(ctx, id, e); !errors.Is(err, host.ErrUnavailable) {
			t.Errorf("append: %v", err)
		}
		time.Sleep(10 * refused)
		synctest.Wait()
		if n := q.index.visible(); n != 0 || len(told) != 0 {
			t.Errorf("%d messages can be received, told %v", n, told)
		}
		works(true)
		if err := db.Append(ctx, id, e); err != nil {
			t.Fatal(err)
		}
		if err, settled := told["a"]; !settled || err != nil || len(q.index.byID) != 0 {
			t.Errorf("with the result: told %v, %d messages", told, len(q.index.byID))
		}
		works(false)
		if err := add("b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * refused)
		synctest.Wait()
		works(true)
		time.Sleep(2 * refused)
		synctest.Wait()
		if err, settled := told["b"]; !settled || err != nil {
			t.Errorf("after a while: told %v", told)
		}
		works(false)
		if err := add("c"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil || !errors.Is(told["c"], host.ErrUnavailable) {
			t.Errorf("%v, told %v", err, told)
		}
	})
	db := open(t, Options{Path: path})
	n := 0
	if err := db.LogSizes(t.Context(), 1, "", func(string, int64) { n++ }); err != nil || n != 2 || len(db.Queue("tasks").index.byID) != 0 {
		t.Errorf("%d logs and %d messages are there when it is opened again, %v", n, len(db.Queue("tasks").index.byID), err)
	}
}
