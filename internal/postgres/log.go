package postgres

import (
	"context"
	"fmt"

	"zerodag/internal/host"
)

// maxSeq is the highest number of an entry, the same as on SQLite.
const maxSeq = 1<<24 - 1

// Append writes an entry: see host.Log. It may be repeated when the connection breaks: an entry of its nonce is
// its own.
func (db *DB) Append(ctx context.Context, attempt int64, e host.Entry) error {
	if e.Seq < 2 || e.Seq > maxSeq || attempt < 1 {
		return fmt.Errorf("append entry %d of attempt %d: no such place", e.Seq, attempt)
	}
	return db.alone(ctx, func(c *conn) error { return c.append(attempt, e) })
}

// append puts the entry behind the one before it. Success is the common case and costs one statement. Of two who insert the
// same number at once one waits for the other's commit. The entry before is locked, so that a log that is removed meanwhile
// keeps no end without a beginning.
func (c *conn) append(attempt int64, e host.Entry) error {
	row, receipt, held := parseReceipt(e.Basis.Receipt)
	if e.Basis.Receipt != "" && !held {
		return host.ErrLeaseLost
	}
	sql := "INSERT INTO attempt_entries (attempt_id, seq, nonce, at, changes, events) SELECT $1::bigint, $2::bigint, $3::bytea, $4::bigint, $5::bytea, $6::bytea" +
		" FROM attempt_entries before WHERE before.attempt_id = $1 AND before.seq = $2 - 1 AND " + stands + " FOR KEY SHARE OF before ON CONFLICT DO NOTHING"
	args := []any{attempt, e.Seq, e.Nonce, e.At, e.Changes, e.Events, e.Basis.After, row, receipt}
	if e.Snapshot != nil {
		sql = "WITH made AS (" + sql + " RETURNING attempt_id, seq) INSERT INTO attempt_snapshots (attempt_id, seq, state) SELECT attempt_id, seq, $10 FROM made"
		args = append(args, e.Snapshot)
	}
	n, err := c.exec(sql, args...)
	if err != nil || n > 0 {
		return err
	}
	return c.whyNot(attempt, e)
}

// stands checks the basis of an entry. PostgreSQL loses commits from the end: if a receipt or a nonce is still there, so is every earlier commit.
const stands = "($7::bytea = '' OR before.nonce = $7) AND ($8::bigint = 0 OR EXISTS (SELECT 1 FROM queued_messages m WHERE m.id = $8 AND m.receipt = $9::bigint))"

// whyNot explains an append that changed nothing.
func (c *conn) whyNot(attempt int64, e host.Entry) error {
	nonce, taken, err := one(c, (*row).text, "SELECT nonce FROM attempt_entries WHERE attempt_id = $1 AND seq = $2", attempt, e.Seq)
	switch {
	case err != nil:
		return err
	case taken && nonce == e.Nonce:
		return nil
	case taken:
		return host.ErrConflict
	}
	before, there, err := one(c, (*row).text, "SELECT nonce FROM attempt_entries WHERE attempt_id = $1 AND seq = $2", attempt, e.Seq-1)
	switch {
	case err != nil:
		return err
	case there && e.Basis.Receipt != "" && (e.Basis.After == "" || before == e.Basis.After):
		return host.ErrLeaseLost
	}
	any, err := c.hasLog(attempt)
	switch {
	case err != nil:
		return err
	case !any:
		return host.ErrNotFound
	case e.Basis.After != "":
		return host.ErrConflict
	}
	return fmt.Errorf("append entry %d of attempt %d: entry %d is not there", e.Seq, attempt, e.Seq-1)
}

func (c *conn) hasLog(attempt int64) (bool, error) {
	_, any, err := one(c, (*row).id, "SELECT seq FROM attempt_entries WHERE attempt_id = $1 LIMIT 1", attempt)
	return any, err
}

// first writes entry 1. Nothing else makes a log.
func (c *conn) first(attempt int64, e host.Entry) error {
	if _, err := c.exec("INSERT INTO attempt_entries (attempt_id, seq, nonce, at, changes, events) VALUES ($1, 1, $2, $3, $4, $5)",
		attempt, e.Nonce, e.At, e.Changes, e.Events); err != nil || e.Snapshot == nil {
		return err
	}
	_, err := c.exec("INSERT INTO attempt_snapshots (attempt_id, seq, state) VALUES ($1, 1, $2)", attempt, e.Snapshot)
	return err
}

// Load reads what is needed for the newest state: see host.Log. Events are left out.
func (db *DB) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	// One statement sees one moment: no entry is missed between a snapshot and the rest.
	const sql = "SELECT e.seq, e.nonce, e.at, e.changes, NULL::bytea, s.state FROM attempt_entries e LEFT JOIN attempt_snapshots s ON s.attempt_id = e.attempt_id AND s.seq = e.seq" +
		" WHERE e.attempt_id = $1 AND e.seq >= coalesce((SELECT max(seq) FROM attempt_snapshots WHERE attempt_id = $1), 0) ORDER BY e.seq"
	var list []host.Entry
	err := db.read(ctx, func(c *conn) (err error) {
		list, err = collect(c, scanEntry, sql, attempt)
		return err
	})
	if err != nil || len(list) == 0 {
		return host.Stored{}, orNotFound(err, "load attempt %d", attempt)
	}
	if newest := list[0]; newest.Snapshot != nil {
		return host.Stored{Snapshot: newest.Snapshot, At: newest.Seq, Nonce: newest.Nonce, Entries: list[1:]}, nil
	}
	return host.Stored{Entries: list}, nil
}

// History reads a part of a log: see host.Log.
func (db *DB) History(ctx context.Context, attempt int64, first int64, n int) (host.Stored, error) {
	first = min(max(first, 1), maxSeq)
	var s host.Stored
	err := db.read(ctx, func(c *conn) error {
		s = host.Stored{}
		any, err := c.hasLog(attempt)
		if err != nil || !any {
			return orNotFound(err, "read history of attempt %d", attempt)
		}
		if err := c.query(func(r *row) { s.At, s.Snapshot = r.id(), r.blob() },
			"SELECT seq, state FROM attempt_snapshots WHERE attempt_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1", attempt, first); err != nil {
			return err
		}
		s.Entries, err = collect(c, scanEntry, "SELECT e.seq, e.nonce, e.at, e.changes, e.events, s.state FROM attempt_entries e"+
			" LEFT JOIN attempt_snapshots s ON s.attempt_id = e.attempt_id AND s.seq = e.seq WHERE e.attempt_id = $1 AND e.seq >= $2 ORDER BY e.seq LIMIT $3",
			attempt, first, n)
		return err
	})
	return s, err
}

func scanEntry(r *row) host.Entry {
	return host.Entry{Seq: r.id(), Nonce: r.text(), At: r.time(), Changes: r.blob(), Events: r.blob(), Snapshot: r.blob()}
}

// orNotFound is err, or host.ErrNotFound where there is none.
func orNotFound(err error, doing string, args ...any) error {
	if err == nil {
		err = host.ErrNotFound
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
