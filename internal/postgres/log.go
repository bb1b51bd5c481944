package postgres

import (
	"context"
	"fmt"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// logExists finds an entry of an attempt.
const logExists = "SELECT seq FROM @attempt_entries WHERE attempt_id = $1 LIMIT 1"

func logDialect() sqlstore.LogDialect {
	const entries = " FROM @attempt_entries e LEFT JOIN @attempt_snapshots s ON s.attempt_id = e.attempt_id AND s.seq = e.seq WHERE e.attempt_id = $1 AND e.seq >= "
	return sqlstore.LogDialect{
		Load: "SELECT e.seq, e.nonce, e.at, e.changes, NULL::bytea, s.state" + entries +
			"coalesce((SELECT max(seq) FROM @attempt_snapshots WHERE attempt_id = $1), 0) ORDER BY e.seq",
		Exists:  logExists,
		Before:  "SELECT seq, state FROM @attempt_snapshots WHERE attempt_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1",
		Entries: "SELECT e.seq, e.nonce, e.at, e.changes, e.events, s.state" + entries + "$2 ORDER BY e.seq LIMIT $3",
	}
}

// Append writes an entry: see host.Log. It may be repeated when the connection breaks, because an entry with its nonce
// must be the one that it wrote.
func (db *DB) Append(ctx context.Context, attempt int64, e host.Entry) error {
	if e.Seq < 2 || e.Seq > sqlstore.MaxSeq || attempt < 1 {
		return fmt.Errorf("append entry %d of attempt %d: invalid position", e.Seq, attempt)
	}
	return db.alone(ctx, func(c *conn) error { return c.append(attempt, e) })
}

// append puts the entry after the previous one. Success is the common case and costs one statement. If two writers
// insert the same number at once, one waits for the other's commit. The previous entry is locked, so that a log that is
// removed meanwhile does not keep its end without its beginning.
func (c *conn) append(attempt int64, e host.Entry) error {
	row, receipt, held := parseReceipt(e.Basis.Receipt)
	if e.Basis.Receipt != "" && !held {
		return host.ErrLeaseLost
	}
	sql := "INSERT INTO @attempt_entries (attempt_id, seq, nonce, at, changes, events) SELECT $1::bigint, $2::bigint, $3::bytea, $4::bigint, $5::bytea, $6::bytea" +
		" FROM @attempt_entries before WHERE before.attempt_id = $1 AND before.seq = $2 - 1 AND " + stands + " FOR KEY SHARE OF before ON CONFLICT DO NOTHING"
	args := []any{attempt, e.Seq, e.Nonce, e.At, e.Changes, e.Events, e.Basis.After, row, receipt}
	if e.Snapshot != nil {
		sql = "WITH made AS (" + sql + " RETURNING attempt_id, seq) INSERT INTO @attempt_snapshots (attempt_id, seq, state) SELECT attempt_id, seq, $10 FROM made"
		args = append(args, e.Snapshot)
	}
	n, err := c.Exec(sql, args...)
	if err != nil || n > 0 {
		return err
	}
	return c.whyNot(attempt, e)
}

// stands checks whether the data that an entry relies on is still there. PostgreSQL loses commits from the end: if a
// receipt or a nonce is still there, so is every earlier commit.
const stands = "($7::bytea = '' OR before.nonce = $7) AND ($8::bigint = 0 OR EXISTS (SELECT 1 FROM @queued_messages m WHERE m.id = $8 AND m.receipt = $9::bigint))"

// whyNot explains an append that changed nothing.
func (c *conn) whyNot(attempt int64, e host.Entry) error {
	nonce, taken, err := sqlstore.One(c, (*row).Text, "SELECT nonce FROM @attempt_entries WHERE attempt_id = $1 AND seq = $2", attempt, e.Seq)
	switch {
	case err != nil:
		return err
	case taken && nonce == e.Nonce:
		return nil
	case taken:
		return host.ErrConflict
	}
	before, there, err := sqlstore.One(c, (*row).Text, "SELECT nonce FROM @attempt_entries WHERE attempt_id = $1 AND seq = $2", attempt, e.Seq-1)
	switch {
	case err != nil:
		return err
	case there && e.Basis.Receipt != "" && (e.Basis.After == "" || before == e.Basis.After):
		return host.ErrLeaseLost
	}
	_, any, err := sqlstore.One(c, (*row).ID, logExists, attempt)
	switch {
	case err != nil:
		return err
	case !any:
		return host.ErrNotFound
	case e.Basis.After != "":
		return host.ErrConflict
	}
	return fmt.Errorf("append entry %d of attempt %d: entry %d does not exist", e.Seq, attempt, e.Seq-1)
}

// first writes entry 1. Nothing else creates a log.
func (c *conn) first(attempt int64, e host.Entry) error {
	if _, err := c.Exec("INSERT INTO @attempt_entries (attempt_id, seq, nonce, at, changes, events) VALUES ($1, 1, $2, $3, $4, $5)",
		attempt, e.Nonce, e.At, e.Changes, e.Events); err != nil || e.Snapshot == nil {
		return err
	}
	_, err := c.Exec("INSERT INTO @attempt_snapshots (attempt_id, seq, state) VALUES ($1, 1, $2)", attempt, e.Snapshot)
	return err
}

// eraseLog deletes the log of an attempt and records that it has none. A concurrent append may add an entry that the
// statement does not see: the append locks the previous entry, so it is finished once that entry is deleted, and the
// next iteration sees the new entry.
func eraseLog(c sqlstore.Conn, attempt int64) error {
	for {
		n, err := c.Exec("DELETE FROM @attempt_entries WHERE attempt_id = $1", attempt)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return c.Batch(sqlstore.Do("DELETE FROM @attempt_snapshots WHERE attempt_id = $1", attempt),
		sqlstore.Do("UPDATE @session_attempts SET has_log = false WHERE id = $1", attempt))
}
