package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"zerodag/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known returns the migrations of this program.
func (o Options) known() (sqlstore.Migrations, error) {
	files := o.migrations
	if files == nil {
		sub, err := fs.Sub(migrationFiles, "migrations")
		if err != nil {
			return nil, fmt.Errorf("list migrations: %w", err)
		}
		files = sub
	}
	return sqlstore.ReadMigrations(files)
}

// Pending returns the names of the migrations that a database lacks, in order: all migrations if there is no file yet.
// It changes nothing.
func Pending(_ context.Context, path string) ([]string, error) {
	return Options{Path: path}.pending()
}

func (o Options) pending() ([]string, error) {
	list, err := o.known()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(o.Path); errors.Is(err, os.ErrNotExist) {
		return list.Names(), nil
	}
	c, err := dial(dsn(o.Path), "query_only = ON", "busy_timeout = 10000")
	if err != nil {
		return nil, err
	}
	list, err = missing(c, o.Path, list)
	return list.Names(), errors.Join(err, c.close())
}

// Migrate brings a database up to date, creates it if necessary, and returns the names of the migrations that it
// applied.
func Migrate(ctx context.Context, path string) ([]string, error) {
	missing, err := Pending(ctx, path)
	if err != nil {
		return nil, err
	}
	db, err := Open(ctx, Options{Path: path, Migrate: true})
	if err != nil {
		return nil, err
	}
	return missing, db.Close()
}

// missing lists the migrations that an open database lacks. A newer database is refused.
func missing(c *conn, path string, list sqlstore.Migrations) (sqlstore.Migrations, error) {
	_, exists, err := sqlstore.One(c, (*row).Text, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'")
	if err != nil || !exists {
		return list, err
	}
	at, _, err := sqlstore.One(c, (*row).Int, "SELECT max(version) FROM schema_migrations")
	if err != nil {
		return nil, err
	}
	oldest, _, err := sqlstore.One(c, (*row).Int, "SELECT max(oldest) FROM schema_migrations")
	if err != nil {
		return nil, err
	}
	if list, err = list.After(at, oldest); err != nil {
		return nil, fmt.Errorf("open database %s: its schema %w", path, err)
	}
	return list, nil
}

// prepare checks the schema of an open database and, if allowed, brings it up to date: each migration is one
// transaction.
func prepare(c *conn, path string, o Options, now time.Time) error {
	list, err := o.known()
	if err != nil {
		return err
	}
	list, err = missing(c, path, list)
	if err != nil || len(list) == 0 {
		return err
	}
	if !o.Migrate {
		return fmt.Errorf("open database %s: its schema lacks %s: run `zerodag migrate run`", path, strings.Join(list.Names(), ", "))
	}
	for _, m := range list {
		if err := c.apply(m, now); err != nil {
			return fmt.Errorf("migrate database %s: %s: %w", path, m.Name, err)
		}
	}
	return nil
}

func (c *conn) apply(m sqlstore.Migration, now time.Time) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.script("ROLLBACK"))
		}
	}()
	if err := c.script("CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"); err != nil {
		return err
	}
	if err := c.script(m.SQL); err != nil {
		return err
	}
	if _, err := c.Exec("INSERT INTO schema_migrations (version, oldest, name, applied_at) VALUES (?, ?, ?, ?)", m.Version, m.Oldest, m.Name, now); err != nil {
		return err
	}
	return c.script("COMMIT")
}
