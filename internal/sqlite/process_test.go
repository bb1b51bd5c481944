package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/host"
)

// outside is a testing.TB for code that runs in another process.
type outside struct{ testing.TB }

func (*outside) Helper()                  {}
func (*outside) Cleanup(func())           {}
func (*outside) Context() context.Context { return context.Background() }

// Fatal ends the process.
func (*outside) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// TestDiskFull proves that with a disk that takes nothing more every write fails with a
// clear error and leaves nothing behind, that reading goes on, and that the driver goes on
// by itself when there is room again. The disk is a limit on the size of files.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	path, c := process(t, "full")
	if out, err := c.Output(); err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Fatalf("the other process says %q (%v)", out, err)
	}
	db := open(t, Options{Path: path})
	if n := db.Queue("tasks").index.visible(); n != 1 {
		t.Errorf("%d messages, want the one that was sent when there was room again", n)
	}
}

func diskFull(path string) int {
	signal.Ignore(syscall.SIGXFSZ)
	t := &outside{}
	db := open(t, Options{Path: path})
	id := started(t, db, 1)[0]
	entry := func(seq int64) host.Entry {
		return host.Entry{Seq: seq, Nonce: fmt.Sprint("n", seq), Changes: make([]byte, 50_000)}
	}
	last := int64(1)
	var err error
	setLimit(t, 1<<20)
	for ; err == nil; last++ {
		err = db.Append(t.Context(), id, entry(last+1))
	}
	last--
	sendErr := db.Queue("tasks").Send(t.Context(), host.Message{ID: "x", Body: make([]byte, 50_000)})
	_, startErr := db.Start(t.Context(), attemptOf(host.Workflow{ID: 1, Name: "main", Project: host.Ref{ID: 1}}, time.Unix(99, 0)))
	l, loadErr := db.Load(t.Context(), id)
	for _, err := range []error{err, sendErr, startErr} {
		if !errors.Is(err, host.ErrUnavailable) || !strings.Contains(err.Error(), "disk") {
			t.Fatal("want an error about the disk:", err)
		}
	}
	if loadErr != nil || int64(len(l.Entries)) != last {
		t.Fatal("entries:", len(l.Entries), "want", last, loadErr)
	}
	setLimit(t, 1<<40)
	if err := errors.Join(db.Append(t.Context(), id, entry(last+1)), db.Queue("tasks").Send(t.Context(), host.Message{ID: "x"})); err != nil {
		t.Fatal("after there was room again:", err)
	}
	if list, err := db.Attempts(t.Context(), host.AttemptQuery{Site: 1}); len(list) != 1 || err != nil {
		t.Fatal("a start that failed left something:", len(list), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ok")
	return 0
}

// setLimit bounds the size of the files that this process writes.
func setLimit(t testing.TB, bytes uint64) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: min(bytes, old.Max), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
}
