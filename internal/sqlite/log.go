package sqlite

import (
	"context"
	"fmt"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// seqBits is the number of low bits of an entry's ID, which hold its sequence number up to sqlstore.MaxSeq; the other
// bits hold the attempt's ID.
const seqBits = 24

// entryID returns the row ID of an entry.
func entryID(attempt, seq int64) int64 { return attempt<<seqBits | seq }

// The ids of an attempt's entries in SQL; the attempt is argument 1.
const (
	noID   = "(?1 << 24)"
	lastID = "(?1 << 24 | 16777215)"
	anyID  = "id BETWEEN " + noID + " AND " + lastID
)

// logExists finds an entry of an attempt.
const logExists = "SELECT id FROM attempt_entries WHERE " + anyID + " LIMIT 1"

func logDialect() sqlstore.LogDialect {
	const entries = " FROM attempt_entries e LEFT JOIN attempt_snapshots s ON s.id = e.id WHERE e.id BETWEEN "
	return sqlstore.LogDialect{
		Load: "SELECT e.id, e.nonce, e.at, e.changes, NULL, s.state" + entries +
			"coalesce((SELECT max(id) FROM attempt_snapshots WHERE " + anyID + "), " + noID + ") AND " + lastID + " ORDER BY e.id",
		Exists:  logExists,
		Before:  "SELECT id, state FROM attempt_snapshots WHERE id BETWEEN " + noID + " AND (" + noID + " | ?2) - 1 ORDER BY id DESC LIMIT 1",
		Entries: "SELECT e.id, e.nonce, e.at, e.changes, e.events, s.state" + entries + "(" + noID + " | ?2) AND " + lastID + " ORDER BY e.id LIMIT ?3",
	}
}

// Append writes an entry: see host.Log.
func (db *DB) Append(ctx context.Context, attempt int64, e host.Entry) error {
	if e.Seq < 2 || e.Seq > sqlstore.MaxSeq || attempt < 1 || attempt > 1<<(62-seqBits) {
		return fmt.Errorf("append entry %d of attempt %d: invalid position", e.Seq, attempt)
	}
	return db.writer.do(ctx, &write{whole: e.Snapshot == nil, run: func(c *conn) error { return c.append(attempt, e) }})
}

// append puts the entry after the previous one. Success is the common case and costs one statement.
func (c *conn) append(attempt int64, e host.Entry) error {
	id := entryID(attempt, e.Seq)
	n, err := c.Exec("INSERT INTO attempt_entries (id, nonce, at, changes, events) SELECT ?1, ?2, ?3, ?4, ?5"+
		" WHERE EXISTS (SELECT 1 FROM attempt_entries WHERE id = ?1 - 1) ON CONFLICT DO NOTHING",
		id, e.Nonce, e.At, e.Changes, e.Events)
	switch {
	case err != nil:
		return err
	case n == 0:
		return c.whyNot(attempt, e)
	case e.Snapshot != nil:
		_, err = c.Exec("INSERT INTO attempt_snapshots (id, state) VALUES (?, ?)", id, e.Snapshot)
	}
	return err
}

// whyNot explains an append that changed nothing.
func (c *conn) whyNot(attempt int64, e host.Entry) error {
	nonce, taken, err := sqlstore.One(c, (*row).Text, "SELECT nonce FROM attempt_entries WHERE id = ?", entryID(attempt, e.Seq))
	switch {
	case err != nil:
		return err
	case taken && nonce == e.Nonce:
		return nil
	case taken:
		return host.ErrConflict
	}
	_, any, err := sqlstore.One(c, (*row).ID, logExists, attempt)
	switch {
	case err != nil:
		return err
	case !any:
		return host.ErrNotFound
	}
	return fmt.Errorf("append entry %d of attempt %d: entry %d does not exist", e.Seq, attempt, e.Seq-1)
}

// first writes entry 1. Nothing else creates a log.
func (c *conn) first(attempt int64, e host.Entry) error {
	id := entryID(attempt, 1)
	if _, err := c.Exec("INSERT INTO attempt_entries (id, nonce, at, changes, events) VALUES (?, ?, ?, ?, ?)",
		id, e.Nonce, e.At, e.Changes, e.Events); err != nil || e.Snapshot == nil {
		return err
	}
	_, err := c.Exec("INSERT INTO attempt_snapshots (id, state) VALUES (?, ?)", id, e.Snapshot)
	return err
}

// eraseLog deletes the log of an attempt and records that it has none.
func eraseLog(c sqlstore.Conn, attempt int64) error {
	return c.Batch(sqlstore.Do("DELETE FROM attempt_entries WHERE "+anyID, attempt),
		sqlstore.Do("DELETE FROM attempt_snapshots WHERE "+anyID, attempt),
		sqlstore.Do("UPDATE session_attempts SET has_log = 0 WHERE id = ?", attempt))
}
