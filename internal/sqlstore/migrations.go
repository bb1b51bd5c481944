package sqlstore

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Migration is one step from a schema version to the next one, in a file NNNN_name.sql. Once released, it never
// changes.
type Migration struct {
	Version int
	Name    string // includes its number
	SQL     string
}

// Migrations holds all known steps in order. Together they create a schema from nothing.
type Migrations []Migration

// ReadMigrations reads the migrations in the root of a file system.
func ReadMigrations(files fs.FS) (Migrations, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var list Migrations
	for i, file := range names {
		number, _, _ := strings.Cut(file, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("list migrations: %s is not number %d", file, i+1)
		}
		sql, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		list = append(list, Migration{version, strings.TrimSuffix(file, ".sql"), string(sql)})
	}
	return list, nil
}

// Names returns the names in order.
func (l Migrations) Names() []string {
	var names []string
	for _, m := range l {
		names = append(names, m.Name)
	}
	return names
}

// After returns the migrations that a schema with a given version lacks. A version from a later release causes an
// error, because this program may not understand the schema.
func (l Migrations) After(version int) (Migrations, error) {
	if version > len(l) {
		return nil, fmt.Errorf("has version %d, but this release supports versions up to %d: use the release that wrote it, or"+
			" a later one", version, len(l))
	}
	return l[version:], nil
}
