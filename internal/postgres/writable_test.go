package postgres

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"zerodag/internal/host"
)

// testWritable proves that the probe notices a database that is full or read-only, leaves nothing behind, and gives a
// change that found no space precedence over its own result.
func testWritable(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	db := open(t, o)
	want := func(what string, err error, cause error) {
		t.Helper()
		if !errors.Is(err, cause) || cause != nil && !errors.Is(err, host.ErrUnavailable) && what != "later" {
			t.Errorf("%s: %v, want %v", what, err, cause)
		}
	}
	writable := func() error {
		db.wrote.Store(0) // the last response does not count
		return db.Writable(t.Context())
	}
	want("in order", writable(), nil)

	l.Rows(t, fmt.Sprintf(`SET search_path = %q; CREATE FUNCTION full_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER full_now BEFORE INSERT ON task_logs FOR EACH ROW EXECUTE FUNCTION full_now(); SELECT 1`, o.Schema))
	want("full", writable(), syscall.ENOSPC)
	l.Rows(t, fmt.Sprintf("SET search_path = %q; DROP TRIGGER full_now ON task_logs; SELECT 1", o.Schema))
	want("in order again", writable(), nil)

	if err := db.alone(t.Context(), func(c *conn) error {
		_, err := c.Exec("SET default_transaction_read_only = on")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want("read-only", writable(), syscall.EROFS)
	db.pool.Reset()
	want("on new connections", writable(), nil)
	if n := number(t, db, "SELECT count(*) FROM @task_logs"); n != 0 {
		t.Errorf("the probe left %d rows", n)
	}

	l.Rows(t, fmt.Sprintf("SET search_path = %q; CREATE TRIGGER full_now BEFORE INSERT ON audits FOR EACH ROW EXECUTE FUNCTION full_now(); SELECT 1", o.Schema))
	want("a change", db.Record(t.Context(), host.Record{At: at(0), Site: 1, Who: "me"}), syscall.ENOSPC)
	want("later", db.Writable(t.Context()), syscall.ENOSPC)
}
