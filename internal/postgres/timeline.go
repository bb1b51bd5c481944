package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"zerodag/internal/sqlstore"
)

// A promoted asynchronous standby, or a restored backup, lacks the last commits, and its sequences continue from an
// earlier number. Processes and users still remember lost ids: if a different object got such an id, a kill could hit
// the wrong attempt. PostgreSQL begins a new timeline in both cases. So the first connection to a new timeline skips
// many numbers before any connection is used.

// skipped is how many numbers of each kind are skipped: more than a standby can be behind.
const skipped = 100_000

// timeline selects the timeline of the server, which is part of the name of the file that the server writes to.
const timeline = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"

// follow is called for each new connection.
func (db *DB) follow(ctx context.Context, to *pgx.Conn) error {
	db.outage.forgetClock() // it may be another server's
	return db.enterTimeline(&conn{ctx: ctx, to: to})
}

// enterTimeline skips numbers if the server is on a timeline that is new to the schema. It changes nothing if there is
// no schema yet, or on services that do not show their timeline: their standbys share the storage of the primary.
func (db *DB) enterTimeline(c *conn) error {
	_, isNew, err := sqlstore.One(c, (*row).ID, "SELECT "+timeline+" WHERE NOT EXISTS (SELECT 1 FROM timelines WHERE timeline = "+timeline+")")
	switch code(err) {
	case "42P01", "42883", "42501", "0A000": // no such table or function; not permitted; or not supported
		return nil
	}
	if err != nil || !isNew {
		return err
	}
	return c.Batch(
		sqlstore.Do("SELECT pg_advisory_xact_lock($1)", hashOf("timeline", db.schema)),
		sqlstore.Do("SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + $1) FROM pg_sequences WHERE schemaname = current_schema()"+
			" AND EXISTS (SELECT 1 FROM timelines) AND NOT EXISTS (SELECT 1 FROM timelines WHERE timeline = "+timeline+")", skipped),
		sqlstore.Do("INSERT INTO timelines (timeline, at) SELECT "+timeline+", "+clock+" ON CONFLICT DO NOTHING"))
}
