package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zerodag/internal/datafolder"
	"zerodag/internal/host"
	"zerodag/internal/sqlite"
	"zerodag/internal/uptime"
)

// kind is a kind of database that is stored in a file and used by only one server. A Store may also be a backuper, a
// checker or a files.ShortLogs.
type kind struct {
	name string // the value of database.type that selects it
	file string // the file name in the data folder, by which package datafolder recognizes the folder
	// open opens the database or creates it.
	open func(context.Context, databaseOptions) (Store, error)
	// pending lists the migrations that a database lacks: all of them if it does not exist. It changes nothing.
	pending func(ctx context.Context, path string) ([]string, error)
	// migrate brings a database up to date, and creates it if it does not exist.
	migrate func(ctx context.Context, path string) error
}

// kinds lists all kinds. The first is the default, even for data in memory.
func kinds() []kind {
	return []kind{
		{"sqlite", datafolder.Database, openSQLite, sqlite.Pending, func(ctx context.Context, path string) error {
			_, err := sqlite.Migrate(ctx, path)
			return err
		}},
	}
}

// databaseOptions holds the options of every kind.
type databaseOptions struct {
	server     string // this server's name
	path       string // the file's path; "" means in memory
	now        func() time.Time
	secretKeys [][]byte // empty: secrets cannot be used
	sync       host.Sync
	migrate    bool // an older database is brought up to date; otherwise it is refused
}

// backuper is a Store that can be copied while it is open.
type backuper interface {
	// Backup writes a consistent copy to a new file, which is complete and on disk when it returns.
	Backup(ctx context.Context, path string) error
}

// checker is a Store that checks a large database for damage after it has been opened, because that takes a long time.
type checker interface {
	// CheckLarge returns an error that describes the damage. The database is in use during the check.
	CheckLarge() error
}

var (
	_ backuper = sqliteStore{}
	_ checker  = sqliteStore{}
)

func openSQLite(ctx context.Context, o databaseOptions) (Store, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: o.path, Server: o.server, Now: o.now, Uptime: uptime.Clock(), SecretKeys: o.secretKeys, Sync: o.sync, Migrate: o.migrate})
	if err != nil {
		return nil, err
	}
	return sqliteStore{db}, nil
}

// sqliteStore is SQLite as a server uses it.
type sqliteStore struct{ *sqlite.DB }

// Queue implements Store.
func (s sqliteStore) Queue(name string) host.Queue { return s.DB.Queue(name) }

// Databases lists the values of database.type that select a database for a single server, the default first.
func Databases() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// databaseNames returns patterns for the files of all databases.
func databaseNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.file+"*")
	}
	return names
}

// kindOf finds a kind by its name; "" means the default.
func kindOf(name string) (kind, error) {
	for _, k := range kinds() {
		if k.name == name || name == "" {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no database of type %q", name)
}

// Database is a stopped server's database.
type Database struct {
	Path   string // its file's path
	Exists bool

	kind kind
}

// DatabaseIn finds the database in a data folder by its file name.
func DatabaseIn(folder string) Database {
	list := kinds()
	for _, k := range list {
		path := filepath.Join(folder, k.file)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return Database{Path: path, Exists: true, kind: k}
		}
	}
	return Database{Path: filepath.Join(folder, list[0].file), kind: list[0]}
}

// Pending lists the migrations that the database lacks, in order: all of them if it does not exist. It changes nothing.
func (d Database) Pending(ctx context.Context) ([]string, error) { return d.kind.pending(ctx, d.Path) }

// Migrate brings the database up to date, and creates it if it does not exist.
func (d Database) Migrate(ctx context.Context) error { return d.kind.migrate(ctx, d.Path) }

// Open opens a stopped server's existing database, without its secrets. An older database is refused.
func (d Database) Open(ctx context.Context) (Store, error) {
	return d.kind.open(ctx, databaseOptions{path: d.Path, now: time.Now})
}
