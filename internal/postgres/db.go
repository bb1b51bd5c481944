package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"zerodag/internal/sqlstore"
	"zerodag/internal/turns"
)

// DefaultSchema is the schema of the tables; Digdag's tables are in another schema.
const DefaultSchema = "zerodag"

// Options holds the settings for opening a database.
type Options struct {
	// URL is the server and database, in libpq's format: postgres://user:password@host:5432/name?sslmode=verify-full,
	// or "host=... dbname=...". It may name several hosts; the host that accepts writes is used.
	URL         string
	Schema      string           // the schema of the tables; "" is DefaultSchema
	Now         func() time.Time // time.Now when nil
	UUID        func() string    // creates the UUIDs of new sessions; nil means random UUIDs
	SecretKeys  [][]byte         // empty: there are no secrets
	Migrate     bool             // upgrade an older schema or create a missing one; otherwise refuse it
	Connections int              // the maximum, including the listening one; 0: 10
	Server      string           // the name of this server, which is recorded with the messages that it receives
	Types       []string         // the task queue delivers only messages of these types, and messages for all; nil: all messages

	migrations fs.FS // for tests; nil: this program's

	tracer pgx.QueryTracer // sees all statements in tests
	poll   time.Duration   // interval of checks by a receiver that is not woken; 0: pollEvery
	settle time.Duration   // how long to ask the database whether a commit was made; 0: settleTime
}

// DB is an open database. It implements all ports of sqlstore.Store, host.Log and host.Inventory, and is safe for
// concurrent use, in this process and others. NewBlobs and NewLogs return its other ports.
type DB struct {
	*sqlstore.Store
	now     func() time.Time
	schema  string
	server  string
	channel string // the notification channel
	pool    *pgxpool.Pool
	turns   *turns.Places // for the sites' requests for connections
	bound   time.Duration // how long to ask whether a commit was made
	queues  map[string]*Queue
	done    chan struct{} // closed by Close
	closing sync.Once
	working sync.WaitGroup // background work
	outage  outage
	marks   marks

	wrote    atomic.Int64 // when Writable last succeeded, in nanoseconds since 1970
	full     atomic.Int64 // when a change last found no space, in nanoseconds since 1970
	pooled   atomic.Bool  // connections end at a pooler
	timeline atomic.Int64 // the timeline that each transaction must be on; 0: only new connections are checked
}

// leastVersion is the oldest PostgreSQL version that is known to work.
const leastVersion = 120000

// Open opens a database and, if o.Migrate is set, creates or upgrades its schema. Any number of processes may have it
// open.
func Open(ctx context.Context, o Options) (_ *DB, err error) {
	config, schema, err := configOf(o)
	if err != nil {
		return nil, err
	}
	db := &DB{now: o.Now, schema: schema, server: o.Server, channel: fmt.Sprintf("zerodag_%016x", uint64(hashOf("listen", schema))),
		bound: cmp.Or(o.settle, settleTime), queues: map[string]*Queue{}, done: make(chan struct{})}
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
	config.BeforeConnect = db.prepares
	config.AfterConnect = db.follow
	most := int(config.MaxConns)
	db.turns = turns.New(most, max(1, most/2), 0)
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open database %s: %w", place(config.ConnConfig), err)
	}
	for _, name := range queueNames() {
		db.queues[name] = newQueue(db, name, o.poll)
	}
	db.queues["tasks"].only(o.Types)
	err = db.alone(ctx, func(c *conn) error {
		if err := db.prepare(c, schema, o, db.now()); err != nil {
			return err
		}
		if err := db.enterTimeline(c); err != nil { // this connection may be older than the schema
			return err
		}
		return c.sweepMarks()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", place(config.ConnConfig), err), db.Close())
	}
	listening := config.ConnConfig.Copy()
	listening.Tracer = nil
	db.working.Go(func() { db.listen(listening) })
	return db, nil
}

// configOf reads the options.
func configOf(o Options) (*pgxpool.Config, string, error) {
	schema := o.Schema
	if schema == "" {
		schema = DefaultSchema
	}
	switch {
	case o.URL == "":
		return nil, "", errors.New("open database: the URL is missing: set it in the form postgres://user@host:5432/name")
	case schema == "public":
		return nil, "", errors.New("open database: the schema \"public\" may contain tables of Digdag with the same names: use a different schema")
	case len(schema) > 63 || len(schema) >= 3 && schema[:3] == "pg_":
		return nil, "", fmt.Errorf("open database: invalid schema name %q: use at most 63 bytes that do not begin with pg_", schema)
	}
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, "", fmt.Errorf("open database: parse its URL: %w", err) // the client omits the password
	}
	config.MaxConns = 10 - 1
	if o.Connections > 0 {
		config.MaxConns = int32(max(o.Connections-1, 2)) // #nosec G115 -- a number of connections
	}
	config.MaxConnIdleTime = 5 * time.Minute
	of := config.ConnConfig
	of.Tracer = o.tracer
	if of.ConnectTimeout == 0 {
		of.ConnectTimeout = 10 * time.Second
	}
	// A server that disappears silently is noticed within half a minute.
	of.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}).DialContext
	if of.ValidateConnect == nil {
		of.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	of.RuntimeParams["client_encoding"] = "UTF8" // poolers refuse other parameters
	of.DefaultQueryExecMode = unprepared
	if of.RuntimeParams["application_name"] == "" {
		of.RuntimeParams["application_name"] = "zerodag"
	}
	return config, schema, nil
}

// place returns the name of a database without its password.
func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("%s on %s", c.Database, net.JoinHostPort(c.Host, fmt.Sprint(c.Port)))
}

// Stopping implements host.Database. It has nothing to record: servers cannot see how another process ended, so Restarted and Crashed of received
// messages are always false.
func (db *DB) Stopping() error { return nil }

// Close closes all connections. Later calls and calls that wait to receive fail or end with their contexts.
func (db *DB) Close() error {
	db.closing.Do(func() {
		close(db.done)
		db.working.Wait()
		db.pool.Close()
	})
	return nil
}

func (db *DB) isClosed() bool {
	select {
	case <-db.done:
		return true
	default:
		return false
	}
}

// Queue returns one of the two queues, "events" or "tasks"; it panics for another name.
func (db *DB) Queue(name string) *Queue {
	q, ok := db.queues[name]
	if !ok {
		panic("postgres: there is no queue " + name)
	}
	return q
}

// hashOf returns the number that identifies a name among PostgreSQL's advisory locks.
func hashOf(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return int64(h.Sum64()) // #nosec G115 -- any number will do
}
