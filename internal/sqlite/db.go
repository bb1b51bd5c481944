package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Options holds the settings for opening a database.
type Options struct {
	Path       string           // the file's path; "" means in memory
	Now        func() time.Time // time.Now when nil
	Steady     func() time.Time // a monotonic clock; nil: the machine's
	Uptime     func() time.Time // like Steady, but including the time that the machine sleeps; nil: none
	Server     string           // the name of this server
	UUID       func() string    // creates the UUIDs of new sessions; nil means random UUIDs
	SecretKeys [][]byte         // the first key encrypts, all keys decrypt; empty: there are no secrets
	Sync       host.Sync
	Migrate    bool // upgrade an older schema; otherwise refuse it

	migrations fs.FS // for tests; nil: this program's
}

// DB is an open database. It implements all ports of sqlstore.Store, host.Log and host.Inventory, and is safe for
// concurrent use.
type DB struct {
	*sqlstore.Store
	path    string
	server  string
	now     func() time.Time
	steady  func() time.Time
	uptime  func() time.Time
	lock    *conn
	writer  *writer
	reader  *reader
	queues  map[string]*Queue
	message atomic.Int64 // the id of the newest message
	crashed bool         // the previous process was not asked to end
	closing sync.Once
	closed  error
}

// Open opens a database or creates it. Only one process at a time can have it open.
func Open(ctx context.Context, o Options) (_ *DB, err error) {
	db := &DB{path: o.Path, server: o.Server, now: o.Now, steady: o.Steady, uptime: o.Uptime}
	if db.steady == nil {
		began := time.Now()
		db.steady = func() time.Time { return began.Round(0).Add(time.Since(began)) }
	}
	if db.now == nil {
		db.now = time.Now
	}
	migrations, err := o.known()
	if err != nil {
		return nil, err
	}
	if db.Store, err = sqlstore.New(port{db}, dialect(), sqlstore.Options{Now: db.now, UUID: o.UUID, SecretKeys: o.SecretKeys, Schema: len(migrations)}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if o.Path != "" {
		if err := ownFiles(o.Path); err != nil {
			return nil, fmt.Errorf("open database: %w", err)
		}
		if db.lock, err = lockFile(o.Path); err != nil {
			return nil, err
		}
	}
	c, err := openWriter(o.Path)
	if err != nil {
		return nil, err
	}
	db.writer = &writer{open: func() (*conn, error) { return openWriter(o.Path) }, conn: c, sync: o.Sync, keep: o.Path == ""}
	if o.Path != "" {
		if err := checkSmall(c, o.Path); err != nil {
			return nil, err
		}
	}
	o.Migrate = o.Migrate || o.Path == ""
	if err := prepare(c, cmp.Or(o.Path, "in memory"), o, db.now()); err != nil {
		return nil, err
	}
	if o.Path == "" {
		db.reader = &reader{writer: db.writer}
	} else {
		db.reader = newReader(func() (*conn, error) { return openReader(o.Path) })
	}
	if err := db.noteCrash(ctx); err != nil {
		return nil, err
	}
	return db, db.loadQueues(ctx)
}

// told is the value of the file's application number (which SQLite keeps for applications) if the last process that had
// the file open was asked to end. Otherwise, and in a new file, the number is 0.
const told = 1

// noteCrash reads how the previous process ended, and records that this one has not been asked to end yet.
func (db *DB) noteCrash(ctx context.Context) error {
	var before int
	if err := db.read(ctx, func(c *conn) (err error) {
		before, _, err = sqlstore.One(c, (*row).Int, "PRAGMA user_version")
		return err
	}); err != nil {
		return fmt.Errorf("read how the last process ended: %w", err)
	}
	db.crashed = before != told
	if before == 0 {
		return nil
	}
	return db.write(ctx, func(c *conn) error { return c.script("PRAGMA user_version = 0") })
}

// Stopping implements host.Database.
func (db *DB) Stopping() error {
	return db.write(context.Background(), func(c *conn) error { return c.script(fmt.Sprintf("PRAGMA user_version = %d", told)) })
}

// Close commits the remaining writes and closes the file. Later calls and waiting receivers fail or end with their
// contexts.
func (db *DB) Close() error {
	db.closing.Do(func() { db.closed = db.close() })
	return db.closed
}

func (db *DB) close() error {
	var errs []error
	for _, q := range db.queues {
		q.close()
	}
	if db.reader != nil {
		errs = append(errs, db.reader.close())
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.close())
	}
	return errors.Join(errs...)
}

// Queue returns one of the two queues, "events" or "tasks"; it panics for another name.
func (db *DB) Queue(name string) *Queue {
	q, ok := db.queues[name]
	if !ok {
		panic("sqlite: there is no queue " + name)
	}
	return q
}

// write commits a change that survives the end of the process.
func (db *DB) write(ctx context.Context, run func(*conn) error) error {
	return db.writer.do(ctx, &write{run: run})
}

func (db *DB) read(ctx context.Context, f func(*conn) error) error { return db.reader.read(ctx, f) }

func dsn(path string) string {
	if path == "" {
		return ":memory:"
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}).String()
}

// openWriter opens the connection that writes. WAL lets others read at the same time. Checkpoints happen every 16 MB
// because each one has to wait for the disk.
func openWriter(path string) (*conn, error) {
	return dial(dsn(path), "journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 10000", "cache_size = -16000",
		"foreign_keys = ON", "wal_autocheckpoint = 4000", "journal_size_limit = 67108864")
}

func openReader(path string) (*conn, error) {
	return dial(dsn(path), "query_only = ON", "busy_timeout = 10000", "cache_size = -4000")
}

// lockFile ensures that this process is the only one until the connection is closed or the process ends in any way. It
// uses SQLite's own lock on an empty database next to the real one, so it works wherever SQLite does.
func lockFile(path string) (*conn, error) {
	c, err := dial(dsn(path + ".lock"))
	if err == nil {
		if err = c.script("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE"); err == nil {
			return c, nil
		}
		err = errors.Join(err, c.close())
	}
	if errors.Is(err, host.ErrUnavailable) && busy(err) {
		return nil, fmt.Errorf("open database %s: another process has opened it (it holds %s.lock): stop that process, or use a different folder", path, path)
	}
	return nil, fmt.Errorf("open database %s: %w", path, err)
}
