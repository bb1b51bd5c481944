package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A migration is a file NNNN_name.sql; once released it never changes.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

type migration struct {
	version int
	name    string
	sql     string
}

func migrations() ([]migration, error) {
	files, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list []migration
	for i, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		version, err := strconv.Atoi(name[:4])
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("list migrations: %s is not number %d", f.Name(), i+1)
		}
		sql, err := migrationFiles.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		list = append(list, migration{version, name, string(sql)})
	}
	return list, nil
}

// Pending returns the names of the migrations that a database lacks, in order: all of them
// when there is no file yet. It changes nothing.
func Pending(ctx context.Context, path string) ([]string, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		list, err := migrations()
		return names(list), err
	}
	c, err := dial(dsn(path), "query_only = ON", "busy_timeout = 10000")
	if err != nil {
		return nil, err
	}
	list, err := pending(c, path)
	return names(list), errors.Join(err, c.close())
}

// Migrate brings a database up to date, makes it if need be, and returns the names of the
// migrations that it applied.
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

func names(list []migration) []string {
	var names []string
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}

// pending lists what an open database lacks. One that a later release made is refused: it
// may hold what this one does not know.
func pending(c *conn, path string) ([]migration, error) {
	list, err := migrations()
	if err != nil {
		return nil, err
	}
	_, exists, err := one(c, (*row).text, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'")
	if err != nil || !exists {
		return list, err
	}
	at, _, err := one(c, (*row).int, "SELECT max(version) FROM schema_migrations")
	if err != nil {
		return nil, err
	}
	if at > len(list) {
		return nil, fmt.Errorf("open database %s: its schema has version %d and this zerodag knows versions up to %d: use the release that wrote it, or a later one", path, at, len(list))
	}
	return list[at:], nil
}

// prepare checks the schema of an open database and, if it may, brings it up to date: each
// migration is one transaction.
func prepare(c *conn, path string, migrate bool, now time.Time) error {
	list, err := pending(c, path)
	if err != nil || len(list) == 0 {
		return err
	}
	if !migrate {
		return fmt.Errorf("open database %s: its schema lacks %s: run `zerodag migrate run`", path, strings.Join(names(list), ", "))
	}
	for _, m := range list {
		if err := c.apply(m, now); err != nil {
			return fmt.Errorf("migrate database %s: %s: %w", path, m.name, err)
		}
	}
	return nil
}

func (c *conn) apply(m migration, now time.Time) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.script("ROLLBACK"))
		}
	}()
	if err := c.script("CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"); err != nil {
		return err
	}
	if err := c.script(m.sql); err != nil {
		return err
	}
	if _, err := c.exec("INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)", m.version, m.name, now); err != nil {
		return err
	}
	return c.script("COMMIT")
}
