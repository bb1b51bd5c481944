package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"zerodag/internal/host"
)

// TestTaskLogs proves that short logs are kept separately for each attempt, each only once however often it is added,
// and are still there when the database is reopened.
func TestTaskLogs(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	db := open(t, Options{Path: path})
	for _, name := range []string{"+b", "+a", "+a+x", "+a"} {
		if err := errors.Join(db.AddLog(ctx, 7, name, []byte("of 7 "+name)), db.AddLog(ctx, 8, name, []byte("8"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Path: path})
	for prefix, want := range map[string]string{"": "+a 7 +a+x 9 +b 7 ", "+a": "+a 7 +a+x 9 ", "+c": ""} {
		got := ""
		if err := db.LogSizes(ctx, 7, prefix, func(name string, size int64) { got += fmt.Sprint(name, " ", size, " ") }); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", prefix, got, err, want)
		}
	}
	if content, err := db.LogContent(ctx, 7, "+a"); err != nil || string(content) != "of 7 +a" {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := db.LogContent(ctx, 9, "+a"); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("a log that is not there: %v", err)
	}
}

// TestRemoveLogs proves that the short logs of some attempts are removed, even those that no caller waited for, and
// that the logs of other attempts stay.
func TestRemoveLogs(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, Options{Path: fileOf(t)}), t.Context()
	for id := range int64(4) {
		if err := errors.Join(db.AddLog(ctx, id, "+a", []byte("a")), db.AddLogSoon(id, "+b", []byte("b"), func(error) {})); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := db.RemoveLogs(ctx, []int64{0, 2, 9}); err != nil {
			t.Fatal(err)
		}
		for id, want := range []int{0, 2, 0, 2} {
			n := 0
			if err := db.LogSizes(ctx, int64(id), "", func(string, int64) { n++ }); err != nil || n != want {
				t.Errorf("attempt %d has %d logs, %v, want %d", id, n, err, want)
			}
		}
	}
}
