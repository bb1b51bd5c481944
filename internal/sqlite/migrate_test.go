package sqlite

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// planted returns the migrations of a later release, which has more of them: their names and contents.
func planted(t *testing.T, more ...string) fs.FS {
	t.Helper()
	initial, err := fs.ReadFile(migrationFiles, "migrations/0001_initial.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{"0001_initial.sql": {Data: initial}}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	return all
}

// TestVersions proves that a missing schema is created only if that is allowed, and that a newer schema is refused with
// an error that names both versions and the remedy.
func TestVersions(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	if list, err := Pending(ctx, path); err != nil || !slices.Equal(list, []string{"0001_initial"}) {
		t.Errorf("pending for no file: %v, %v", list, err)
	}
	_, err := Open(ctx, Options{Path: path})
	wantText(t, err, "0001_initial", "zerodag migrate run")
	if list, err := Migrate(ctx, path); err != nil || len(list) != 1 {
		t.Errorf("Migrate = %v, %v", list, err)
	}
	if list, err := Pending(ctx, path); err != nil || len(list) != 0 {
		t.Errorf("pending after Migrate: %v, %v", list, err)
	}
	db := open(t, Options{Path: path})
	if err := db.write(ctx, func(c *conn) error {
		_, err := c.Exec("INSERT INTO schema_migrations (version, oldest, name, applied_at) VALUES (99, 99, 'later', 0)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, Options{Path: path, Migrate: true})
	wantText(t, err, "version 99", "versions up to 1", "a later one")
	_, err = Pending(ctx, path)
	wantText(t, err, "version 99")
}

// TestUpgrade proves that a later release brings an older schema and its data up to date only if that is allowed; that
// a migration that fails halfway changes nothing; and that this release works with the result, unless the later release
// has removed something.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path, ctx := fileOf(t), t.Context()
	old := open(t, Options{Path: path, SecretKeys: [][]byte{testKey}})
	id := started(t, old, 1)[0]
	if err := errors.Join(old.Append(ctx, id, host.Entry{Seq: 2, Nonce: "n", Changes: []byte("changes")}), old.PutSecret(ctx, 1, 1, "key", "value"), old.Close()); err != nil {
		t.Fatal(err)
	}
	const change = "ALTER TABLE projects ADD COLUMN motto TEXT; UPDATE projects SET motto = 'we are ' || name;"
	broken := Options{Path: path, Migrate: true, migrations: planted(t, "0002_broken.sql", change+"INSERT INTO nowhere VALUES (1);")}
	_, err := Open(ctx, broken)
	wantText(t, err, "0002_broken", "nowhere")
	later := Options{Path: path, SecretKeys: [][]byte{testKey}, migrations: planted(t, "0002_motto.sql", change)}
	if list, err := later.pending(); err != nil || !slices.Equal(list, []string{"0002_motto"}) {
		t.Errorf("pending = %v, %v", list, err)
	}
	_, err = Open(ctx, later)
	wantText(t, err, "0002_motto", "zerodag migrate run")
	db := open(t, later) // it migrates because the column is still missing
	var motto string
	if err := db.read(ctx, func(c *conn) (err error) {
		motto, _, err = sqlstore.One(c, (*row).Text, "SELECT motto FROM projects")
		return err
	}); err != nil || motto != "we are demo" {
		t.Errorf("the motto is %q, %v", motto, err)
	}
	serves(t, db, id)
	if list, err := later.pending(); err != nil || len(list) != 0 {
		t.Errorf("pending after that: %v, %v", list, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	back := open(t, Options{Path: path, Migrate: true, SecretKeys: [][]byte{testKey}})
	serves(t, back, id)
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
	removing := open(t, Options{Path: path, Migrate: true, migrations: planted(t, "0002_motto.sql", change, "0003_params.sql", "-- oldest: 2\nDROP TABLE params;")})
	if err := removing.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, Options{Path: path, Migrate: true})
	wantText(t, err, "version 3", "that know version 2", "versions up to 1", "a later one")
	open(t, Options{Path: path, Migrate: true, migrations: planted(t, "0002_motto.sql", change)})
}

// serves checks that everything that was stored before is still there.
func serves(t *testing.T, db *DB, id int64) {
	t.Helper()
	ctx := t.Context()
	l, err := db.Load(ctx, id)
	if err != nil || len(l.Entries) != 2 || string(l.Entries[1].Changes) != "changes" {
		t.Errorf("Load = %+v, %v", l, err)
	}
	if d, err := db.Queue("events").Receive(ctx, 1, time.Minute); err != nil || d[0].ID != host.MessageID(id, "start") {
		t.Errorf("Receive = %+v, %v", d, err)
	}
	if v, err := db.ProjectSecrets(ctx, 1, 1); err != nil || v["key"] != "value" {
		t.Errorf("ProjectSecrets = %v, %v", v, err)
	}
	if list, err := db.Sessions(ctx, host.SessionQuery{Site: 1}); err != nil || len(list) != 1 || list[0].Last.Project.Name != "demo" {
		t.Errorf("Sessions = %+v, %v", list, err)
	}
}
