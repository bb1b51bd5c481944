package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// A promoted asynchronous standby, or a restored backup, lacks the last commits, and its sequences continue from an
// earlier number. Processes and users still remember lost ids: if a different object got such an id, a kill could hit
// the wrong attempt. PostgreSQL begins a new timeline in both cases. So the first connection to a new timeline skips
// many numbers before any connection is used.

// skipped is how many numbers of each kind are skipped: more than a standby can be behind.
const skipped = 100_000

// timeline selects the server's timeline, which is part of the name of the file that the server writes to.
const timeline = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"

// follow is called for each new connection.
func (db *DB) follow(ctx context.Context, to *pgx.Conn) error {
	db.outage.forgetClock() // it may be the clock of another server
	pooled, err := throughPooler(ctx, to)
	if err != nil {
		return err
	}
	db.pooled.Store(pooled)
	if pooled && to.Config().DefaultQueryExecMode != unprepared {
		return errPooled
	}
	if !pooled {
		// With the default, which assumes spinning disks, lists are read by filtering another site's rows.
		if _, err := to.Exec(ctx, "SET random_page_cost = 1.1"); err != nil {
			return translated(ctx, err)
		}
	}
	return db.enterTimeline(db.connTo(ctx, to))
}

// unprepared is how statements run where none can be prepared: a transaction pooler keeps no prepared statements
// between transactions. Prepared statements cost the database about a quarter as much.
const unprepared = pgx.QueryExecModeCacheDescribe

// errPooled is returned for a connection that expects to keep prepared statements. The next one expects a pooler.
var errPooled = fmt.Errorf("%w: a pooler answers for the database", host.ErrUnavailable)

// prepares is called before each new connection: it uses prepared statements unless the last one led to a pooler.
func (db *DB) prepares(_ context.Context, c *pgx.ConnConfig) error {
	if !db.pooled.Load() {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	return nil
}

// throughPooler reports whether a connection ends at a pooler such as PgBouncer, which may hand each transaction to a
// different PostgreSQL process: the process at work is not the one that the login named.
func throughPooler(ctx context.Context, to *pgx.Conn) (bool, error) {
	var pid uint32
	if err := to.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return false, translated(ctx, err)
	}
	return pid != to.PgConn().PID(), nil
}

// enterTimeline skips numbers if the server is on a timeline that is new to the schema. It changes nothing if there is
// no schema yet, or on services that do not show their timeline: their standbys share the storage of the primary.
func (db *DB) enterTimeline(c *conn) error {
	var now int64
	isNew := false
	err := c.Query(func(r *row) { now, isNew = r.ID(), r.Bool() }, "SELECT "+timeline+", NOT EXISTS (SELECT 1 FROM @timelines WHERE timeline = "+timeline+")")
	switch code(err) {
	case "42P01", "42883", "42501", "0A000": // no such table or function; not permitted; or not supported
		return nil
	}
	if err == nil && isNew {
		err = c.skip(db.schema)
	}
	if err == nil && db.pooled.Load() { // connections of a pooler outlive a failover: each transaction checks
		db.timeline.Store(now)
	}
	return err
}

// skip enters the current timeline, unless another process has done so.
func (c *conn) skip(schema string) error {
	return c.Batch(
		sqlstore.Do("SELECT pg_advisory_xact_lock($1)", hashOf("timeline", schema)),
		sqlstore.Do("SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + $1) FROM pg_sequences WHERE schemaname = convert_from($2, 'UTF8')"+
			" AND EXISTS (SELECT 1 FROM @timelines) AND NOT EXISTS (SELECT 1 FROM @timelines WHERE timeline = "+timeline+")", skipped, schema),
		sqlstore.Do("INSERT INTO @timelines (timeline, at) SELECT "+timeline+", "+clock+" ON CONFLICT DO NOTHING"))
}
