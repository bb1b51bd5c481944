package sqlstore

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Migration is one step from a schema version to the next one, in a file NNNN_name.sql. Once released, it never
// changes.
//
// If a migration removes or changes something that earlier releases use, its first line "-- oldest: N" names the schema
// version that a release must know to work with the result. All other migrations only add, so that releases that do not
// know them continue to work.
type Migration struct {
	Version int
	Oldest  int    // 0: every release works with the result
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
		oldest, err := oldestOf(string(sql))
		if err != nil || oldest > version {
			return nil, fmt.Errorf("list migrations: %s: `-- oldest: N` must name a version up to its own", file)
		}
		list = append(list, Migration{version, oldest, strings.TrimSuffix(file, ".sql"), string(sql)})
	}
	return list, nil
}

// oldestOf reads the first line of a migration.
func oldestOf(sql string) (int, error) {
	line, _, _ := strings.Cut(sql, "\n")
	number, is := strings.CutPrefix(line, "-- oldest:")
	if !is {
		return 0, nil
	}
	return strconv.Atoi(strings.TrimSpace(number))
}

// Names returns the names in order.
func (l Migrations) Names() []string {
	var names []string
	for _, m := range l {
		names = append(names, m.Name)
	}
	return names
}

// After returns the migrations that a schema with the given version lacks. A later release may have migrated the schema
// to a version that this program does not know. This is an error only if a program must know the version oldest to work
// with the schema, and this program does not.
func (l Migrations) After(version, oldest int) (Migrations, error) {
	if oldest > len(l) {
		return nil, fmt.Errorf("has version %d, which can only be used by releases that know version %d, but this release supports versions up to %d:"+
			" use the release that wrote it, or a later one", version, oldest, len(l))
	}
	return l[min(version, len(l)):], nil
}
