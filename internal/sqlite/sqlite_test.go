package sqlite

import (
	"path/filepath"
	"testing"

	"zerodag/internal/host"
)

var (
	_ host.Log       = (*DB)(nil)
	_ host.Projects  = (*DB)(nil)
	_ host.Workflows = (*DB)(nil)
	_ host.Schedules = (*DB)(nil)
	_ host.Attempts  = (*DB)(nil)
	_ host.Sessions  = (*DB)(nil)
	_ host.Secrets   = (*DB)(nil)
	_ host.Users     = (*DB)(nil)
	_ host.Audit     = (*DB)(nil)
	_ host.Database  = (*DB)(nil)
	_ host.Queue     = (*Queue)(nil)
)

// open opens a database in a file, or in memory, that is closed at the end of the test.
func open(t testing.TB, o Options) *DB {
	t.Helper()
	o.Migrate = true
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func fileOf(t testing.TB) string { return filepath.Join(t.TempDir(), "zerodag.db") }
