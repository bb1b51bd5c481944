//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
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

// TestDiskFull proves that with a full disk, every write fails with a clear error and leaves nothing behind, that reads
// continue to work, and that the driver recovers without help when there is space again. A limit on file sizes stands
// in for the full disk.
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

// setLimit limits the size of the files that this process writes.
func setLimit(t testing.TB, bytes uint64) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: min(bytes, old.Max), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
}

// TestMain also runs as the process that other tests kill or deprive of disk space.
func TestMain(m *testing.M) {
	switch os.Getenv("ZERODAG_TEST_PROCESS") {
	case "append":
		appendForever(os.Args[1])
	case "full":
		os.Exit(diskFull(os.Args[1]))
	default:
		os.Exit(m.Run())
	}
}

// process runs this test binary as a separate process.
func process(t *testing.T, what string) (path string, c *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path = fileOf(t)
	c = exec.CommandContext(t.Context(), self, path)
	c.Env = append(os.Environ(), "ZERODAG_TEST_PROCESS="+what)
	c.Stderr = os.Stderr
	return path, c
}

// TestKill proves that after SIGKILL during writes, all acknowledged data is stored, and the file is intact and opens
// at once; and that it cannot be opened before that.
func TestKill(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		path, c := process(t, "append")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		acknowledged, sent, killed := map[int64]int64{}, 0, false
		for n := 0; lines.Scan(); n++ {
			var attempt, seq int64
			if _, err := fmt.Sscanf(lines.Text(), "%d %d", &attempt, &seq); err != nil {
				break // cut off by the kill
			}
			if attempt == 0 {
				sent++
			} else {
				acknowledged[attempt] = max(acknowledged[attempt], seq)
			}
			if !killed && n >= 300*(round+1) && len(acknowledged) == 8 && sent > 0 {
				killed = true
				_, err := Open(t.Context(), Options{Path: path})
				wantText(t, err, "another process has opened it")
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.Wait()
		checkKilled(t, path, acknowledged, sent)
	}
}

func checkKilled(t *testing.T, path string, acknowledged map[int64]int64, sent int) {
	db := open(t, Options{Path: path})
	for attempt, seq := range acknowledged {
		l, err := db.Load(t.Context(), attempt)
		if err != nil || int64(len(l.Entries)) < seq {
			t.Errorf("attempt %d has %d entries of %d that were acknowledged (%v)", attempt, len(l.Entries), seq, err)
		}
	}
	if n := db.Queue("tasks").index.visible(); n < sent || len(acknowledged) == 0 || sent == 0 {
		t.Errorf("%d messages of %d, %d attempts", n, sent, len(acknowledged))
	}
	if err := db.read(t.Context(), func(c *conn) error {
		text, _, err := sqlstore.One(c, (*row).Text, "PRAGMA integrity_check")
		if text != "ok" {
			err = errors.Join(err, errors.New(text))
		}
		return err
	}); err != nil {
		t.Errorf("the file is not whole: %v", err)
	}
}

// appendForever appends entries from several goroutines and prints the acknowledged ones, until it is killed.
func appendForever(path string) {
	t := &outside{}
	db := open(t, Options{Path: path})
	for _, id := range started(t, db, 8) {
		go func() {
			for seq := int64(2); ; seq++ {
				if db.Append(t.Context(), id, host.Entry{Seq: seq, Nonce: "n", Changes: make([]byte, 200)}) == nil {
					fmt.Println(id, seq)
				}
			}
		}()
	}
	for i := 0; ; i++ {
		if db.Queue("tasks").Send(t.Context(), host.Message{ID: fmt.Sprint(i)}) == nil {
			fmt.Println(0, i)
		}
	}
}
