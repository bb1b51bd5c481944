package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/host"
)

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want it to say %q", err, part)
		}
	}
}

// TestOneProcess proves that a database that is already open is refused, and can be opened once it is closed.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	db, err := Open(t.Context(), Options{Path: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Path: path, Migrate: true})
	wantText(t, err, path, "another process has opened it", "stop that process")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Path: path})
}

// TestPaths proves that any file name is used unchanged.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "50%41?mode=memory#x.db", "new/folder/ü.db"} {
		path := filepath.Join(t.TempDir(), name)
		open(t, Options{Path: path})
		if _, err := os.Stat(path); err != nil {
			t.Errorf("database %q: %v", name, err)
		}
	}
}

// TestBackup proves that a copy of a running database is complete and opens.
func TestBackup(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, Options{Path: fileOf(t)}), t.Context()
	id := started(t, db, 1)[0]
	stop := make(chan struct{})
	written := make(chan int64)
	go func() {
		for seq := int64(2); ; seq++ {
			select {
			case <-stop:
				written <- seq - 1
				return
			default:
			}
			if err := db.Append(ctx, id, host.Entry{Seq: seq, Nonce: "n"}); err != nil {
				t.Error(err)
			}
		}
	}()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := db.Backup(ctx, path); err != nil {
		t.Fatal(err)
	}
	close(stop)
	last := <-written
	wantText(t, db.Backup(ctx, path), "exists")
	l, err := open(t, Options{Path: path}).Load(ctx, id)
	if err != nil || len(l.Entries) == 0 || int64(len(l.Entries)) > last {
		t.Errorf("the copy has %d entries of %d (%v)", len(l.Entries), last, err)
	}
}
