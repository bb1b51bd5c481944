package embedded

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/datafolder"
	"zerodag/internal/host"
)

// TestKinds proves for each kind of database that its folder is recognized as a server's data, that it can be found,
// created and migrated without an engine, and that its backup can be restored, or the refusal explains how to copy it.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, name := range Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, folder := t.Context(), t.TempDir()
			e, err := Open(ctx, Options{Kind: name, Folder: folder, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if !datafolder.Is(folder) {
				t.Errorf("%s is not recognized as a folder of data: add its name to package datafolder", filepath.Base(e.file))
			}
			if v, err := e.Vitals(ctx); err != nil || v.Database == 0 {
				t.Errorf("vitals are %+v, %v; want the size of the database", v, err)
			}
			wantDatabase(t, folder, name, e.file)

			var backup bytes.Buffer
			restored := filepath.Join(t.TempDir(), "restored")
			if _, copies := e.DB.(backuper); !copies {
				wantInvalid(t, e.Backup(ctx, &backup), "stop the server")
			} else if err := errors.Join(e.Backup(ctx, &backup), Restore(ctx, &backup, restored)); err != nil {
				t.Error(err)
			} else {
				wantDatabase(t, restored, name, filepath.Join(restored, filepath.Base(e.file)))
			}

			other, _ := kindOf(name)
			path := filepath.Join(t.TempDir(), "new", other.file)
			if list, err := other.pending(ctx, path); err != nil || len(list) == 0 {
				t.Errorf("pending migrations of a database that does not exist: %v, %v", list, err)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("listing migrations has created the database (%v)", err)
			}
			if err := other.migrate(ctx, path); err != nil {
				t.Error(err)
			}
			wantDatabase(t, filepath.Dir(path), name, path)
		})
	}
}

// wantDatabase checks that the database in a folder is found and is up to date.
func wantDatabase(t *testing.T, folder, kind, path string) {
	t.Helper()
	d := DatabaseIn(folder)
	if list, err := d.Pending(t.Context()); err != nil || len(list) != 0 || !d.Exists || d.kind.name != kind || d.Path != path {
		t.Errorf("the database in the folder is %s, of type %s, and lacks %v (%v); want %s of type %s", d.Path, d.kind.name, list, err, path, kind)
	}
}

func wantInvalid(t *testing.T, err error, part string) {
	t.Helper()
	var refusal *host.Error
	if !errors.As(err, &refusal) || refusal.Code != host.Invalid || !strings.Contains(refusal.Message, part) {
		t.Errorf("error is %v, want one for the user with %q", err, part)
	}
}

// TestNoBackup proves that a server that cannot copy its database explains how to back it up instead.
func TestNoBackup(t *testing.T) {
	t.Parallel()
	wantInvalid(t, (&Engine{DB: struct{ Store }{}}).Backup(t.Context(), nil), "stop the server")
	wantInvalid(t, (&Engine{shared: &Shared{Backup: "use pg_dump"}}).Backup(t.Context(), nil), "use pg_dump")
}

// TestUnknownKind proves that an unknown kind of database is refused.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	if e, err := Open(t.Context(), Options{Kind: "mail", Folder: t.TempDir()}); err == nil || !strings.Contains(err.Error(), `"mail"`) {
		t.Errorf("opened %v, %v", e, err)
	}
}
