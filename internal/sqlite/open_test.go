package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestOneProcess proves that a database that is open is refused, and can be opened once it
// is closed.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	path := fileOf(t)
	db, err := Open(t.Context(), Options{Path: path, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Path: path, Migrate: true})
	wantText(t, err, path, "another process has it open", "stop that one")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Path: path})
}

// TestPaths proves that any name of a file is taken as it is.
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

// TestVersions proves that an older schema is brought up to date only when that is allowed,
// and that a newer one is refused with both versions and the remedy.
func TestVersions(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	if list, err := Pending(ctx, path); err != nil || len(list) == 0 || list[0] != "0001_initial" {
		t.Errorf("pending for no file: %v, %v", list, err)
	}
	_, err := Open(ctx, Options{Path: path})
	wantText(t, err, "0001_initial", "zerodag migrate run")
	if list, err := Migrate(ctx, path); err != nil || len(list) == 0 {
		t.Errorf("Migrate = %v, %v", list, err)
	}
	if list, err := Pending(ctx, path); err != nil || len(list) != 0 {
		t.Errorf("pending after Migrate: %v, %v", list, err)
	}
	db := open(t, Options{Path: path})
	if err := db.write(ctx, func(c *conn) error {
		_, err := c.exec("INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'later', 0)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, Options{Path: path, Migrate: true})
	wantText(t, err, "version 99", "versions up to 8", "a later one")
	_, err = Pending(ctx, path)
	wantText(t, err, "version 99")
}

// TestSchema1 proves that a database that the first schema made opens and serves. The
// file was made by the test below when that schema was the newest.
func TestSchema1(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	content, err := os.ReadFile("testdata/schema1.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, Options{Path: path, SecretKey: testKey})
	l, err := db.Load(ctx, 1)
	if err != nil || len(l.Entries) != 2 || string(l.Entries[1].Changes) != "changes" {
		t.Errorf("Load = %+v, %v", l, err)
	}
	if d, err := db.Queue("events").Receive(ctx, 1, time.Minute); err != nil || d[0].ID != "1/start" {
		t.Errorf("Receive = %+v, %v", d, err)
	}
	if v, err := db.ProjectSecrets(ctx, 1, 1); err != nil || v["key"] != "value" {
		t.Errorf("ProjectSecrets = %v, %v", v, err)
	}
	if list, err := db.Sessions(ctx, host.SessionQuery{Site: 1}); err != nil || len(list) != 1 || list[0].Last.Project.Name != "demo" {
		t.Errorf("Sessions = %+v, %v", list, err)
	}
}

// TestMakeSchemaFile makes the file of the newest schema, for the tests of later releases.
func TestMakeSchemaFile(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	db := open(t, Options{Path: path, SecretKey: testKey})
	id := started(t, db, 1)[0]
	if err := errors.Join(db.Append(ctx, id, host.Entry{Seq: 2, Nonce: "n", Changes: []byte("changes")}), db.PutSecret(ctx, 1, 1, "key", "value")); err != nil {
		t.Fatal(err)
	}
	list, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("testdata/schema%d.db", len(list))
	if _, err := os.Stat(name); err == nil {
		return
	}
	if err := errors.Join(os.MkdirAll("testdata", 0o755), os.RemoveAll(name), db.Backup(ctx, name)); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s did not exist and was made: add it to the repository", name)
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
