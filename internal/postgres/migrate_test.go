package postgres

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"zerodag/internal/host"
)

// testVersions proves that a missing schema is created only if that is allowed, and that a newer schema is refused with
// an error that names both versions and the remedy.
func testVersions(t *testing.T, l *lab) {
	l.enter(t)
	o, ctx := l.options(), t.Context()
	o.Migrate = false
	if list, err := Pending(ctx, o); err != nil || !slices.Equal(list, []string{"0001_initial"}) {
		t.Errorf("pending without a schema: %v, %v", list, err)
	}
	_, err := Open(ctx, o)
	wantText(t, err, "0001_initial", "zerodag migrate run", o.Schema, "target on 127.0.0.1")
	if list, err := Migrate(ctx, o); err != nil || len(list) != 1 {
		t.Errorf("Migrate = %v, %v", list, err)
	}
	if list, err := Pending(ctx, o); err != nil || len(list) != 0 {
		t.Errorf("pending after Migrate: %v, %v", list, err)
	}
	db := open(t, o)
	if err := db.write(ctx, func(c *conn) error {
		_, err := c.Exec("INSERT INTO @schema_migrations (version, oldest, name, applied_at) VALUES (99, 99, 'later', 0)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	o.Migrate = true
	_, err = Open(ctx, o)
	wantText(t, err, "version 99", "versions up to 1", "a later one")
	_, err = Pending(ctx, o)
	wantText(t, err, "version 99")
}

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

// testUpgrade proves that servers of a later release that start together bring an older schema and its data up to date
// once, and only if that is allowed; that a migration that fails halfway changes nothing; and that this release works
// with the result. A migration that removes something is refused while a server runs that needs it, and then keeps such
// servers from starting.
func testUpgrade(t *testing.T, l *lab) {
	l.enter(t)
	o, ctx := l.options(), t.Context()
	o.Connections = 2
	old := open(t, o)
	a := setScene(t, old).start(t, old)
	if err := errors.Join(old.Append(ctx, a.ID, host.Entry{Seq: 2, Nonce: "n", Changes: []byte("changes")}), old.PutSecret(ctx, 1, 1, "key", "value")); err != nil {
		t.Fatal(err)
	}
	const change = "ALTER TABLE projects ADD COLUMN motto bytea; UPDATE projects SET motto = 'we are '::bytea || name;"
	broken, later := o, o
	broken.migrations = planted(t, "0002_broken.sql", change+"INSERT INTO nowhere VALUES (1);")
	_, err := Open(ctx, broken)
	wantText(t, err, "0002_broken", "nowhere")
	later.Migrate, later.migrations = false, planted(t, "0002_motto.sql", change)
	if list, err := Pending(ctx, later); err != nil || !slices.Equal(list, []string{"0002_motto"}) {
		t.Errorf("pending = %v, %v", list, err)
	}
	_, err = Open(ctx, later)
	wantText(t, err, "0002_motto", "zerodag migrate run")
	later.Migrate = true
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			db, err := Open(ctx, later)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := Migrate(ctx, later); err != nil || len(list) != 0 {
		t.Errorf("Migrate after that: %v, %v", list, err)
	}
	serves(t, open(t, later), a.ID)
	back := open(t, o)
	if l, err := back.Load(ctx, a.ID); err != nil || len(l.Entries) != 2 {
		t.Errorf("the earlier release loads %+v, %v", l, err)
	}
	if _, err := back.Push(ctx, pushOf("other", "r1")); err != nil {
		t.Errorf("push to the later schema: %v", err)
	}
	removing := later
	removing.migrations = planted(t, "0002_motto.sql", change, "0003_params.sql", "-- oldest: 2\nDROP TABLE params;")
	older, newer := host.Server{ID: "a", Name: "1", Host: "old", Lease: time.Minute}, host.Server{ID: "b", Name: "2", Host: "new", Lease: time.Minute}
	if err := errors.Join(back.PutServer(ctx, older), open(t, later).PutServer(ctx, newer)); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, removing)
	wantText(t, err, "0003_params", "use: 1 on old.", "knows schema version 2")
	if err := back.RemoveServer(ctx, older.ID); err != nil {
		t.Fatal(err)
	}
	older.Lease = -time.Minute // it has been silent for longer than its lease
	if err := back.PutServer(ctx, older); err != nil {
		t.Fatal(err)
	}
	open(t, removing)
	_, err = Open(ctx, o)
	wantText(t, err, "version 3", "that know version 2", "versions up to 1", "a later one")
	open(t, later)
}

// serves checks that the data was converted and that everything else that was stored before is still there.
func serves(t *testing.T, db *DB, id int64) {
	t.Helper()
	ctx := t.Context()
	if n := number(t, db, "SELECT count(*) FROM @projects WHERE motto = 'we are '::bytea || name"); n != 1 {
		t.Errorf("%d projects have a motto", n)
	}
	if n := number(t, db, "SELECT count(*) FROM @schema_migrations"); n != 2 {
		t.Errorf("%d migrations are noted", n)
	}
	l, err := db.Load(ctx, id)
	if err != nil || len(l.Entries) != 2 || string(l.Entries[1].Changes) != "changes" {
		t.Errorf("Load = %+v, %v", l, err)
	}
	if d, err := db.Queue("events").Receive(ctx, 1, time.Minute); err != nil || len(d) != 1 || d[0].ID != host.MessageID(id, "go") {
		t.Errorf("Receive = %+v, %v", d, err)
	}
	if v, err := db.ProjectSecrets(ctx, 1, 1); err != nil || v["key"] != "value" {
		t.Errorf("ProjectSecrets = %v, %v", v, err)
	}
	if list, err := db.Sessions(ctx, host.SessionQuery{Site: 1}); err != nil || len(list) != 1 || list[0].Last.ID != id {
		t.Errorf("Sessions = %+v, %v", list, err)
	}
}
