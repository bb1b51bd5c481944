package sqlite

import (
	"context"
	"fmt"

	"zerodag/internal/host"
)

// seqBits are the low bits of an entry's id; the others are the attempt's.
const (
	seqBits = 24
	maxSeq  = 1<<seqBits - 1
)

// entryID is where an entry lies.
func entryID(attempt, seq int64) int64 { return attempt<<seqBits | seq }

// Append writes an entry: see host.Log.
func (db *DB) Append(ctx context.Context, attempt int64, e host.Entry) error {
	if e.Seq < 2 || e.Seq > maxSeq || attempt < 1 || attempt > 1<<(62-seqBits) {
		return fmt.Errorf("append entry %d of attempt %d: no such place", e.Seq, attempt)
	}
	return db.writer.do(ctx, &write{whole: e.Snapshot == nil, run: func(c *conn) error { return c.append(attempt, e) }})
}

// append puts the entry behind the one before it. Success is the common case and costs one
// statement.
func (c *conn) append(attempt int64, e host.Entry) error {
	id := entryID(attempt, e.Seq)
	n, err := c.exec("INSERT INTO attempt_entries (id, nonce, at, changes, events) SELECT ?1, ?2, ?3, ?4, ?5"+
		" WHERE EXISTS (SELECT 1 FROM attempt_entries WHERE id = ?1 - 1) ON CONFLICT DO NOTHING",
		id, e.Nonce, e.At, e.Changes, e.Events)
	switch {
	case err != nil:
		return err
	case n == 0:
		return c.whyNot(attempt, e)
	case e.Snapshot != nil:
		_, err = c.exec("INSERT INTO attempt_snapshots (id, state) VALUES (?, ?)", id, e.Snapshot)
	}
	return err
}

// whyNot explains an append that changed nothing.
func (c *conn) whyNot(attempt int64, e host.Entry) error {
	nonce, taken, err := one(c, (*row).text, "SELECT nonce FROM attempt_entries WHERE id = ?", entryID(attempt, e.Seq))
	switch {
	case err != nil:
		return err
	case taken && nonce == e.Nonce:
		return nil
	case taken:
		return host.ErrConflict
	}
	_, any, err := one(c, (*row).id, "SELECT id FROM attempt_entries WHERE id BETWEEN ? AND ? LIMIT 1", entryID(attempt, 0), entryID(attempt, maxSeq))
	switch {
	case err != nil:
		return err
	case !any:
		return host.ErrNotFound
	}
	return fmt.Errorf("append entry %d of attempt %d: entry %d is not there", e.Seq, attempt, e.Seq-1)
}

// first writes entry 1. Nothing else makes a log.
func (c *conn) first(attempt int64, e host.Entry) error {
	id := entryID(attempt, 1)
	if _, err := c.exec("INSERT INTO attempt_entries (id, nonce, at, changes, events) VALUES (?, ?, ?, ?, ?)",
		id, e.Nonce, e.At, e.Changes, e.Events); err != nil || e.Snapshot == nil {
		return err
	}
	_, err := c.exec("INSERT INTO attempt_snapshots (id, state) VALUES (?, ?)", id, e.Snapshot)
	return err
}

// Load reads what is needed for the newest state: see host.Log. Events are left out.
func (db *DB) Load(ctx context.Context, attempt int64) (host.Stored, error) {
	// One statement sees one moment: no entry is missed between a snapshot and the rest.
	const sql = "SELECT e.id, e.nonce, e.at, e.changes, NULL, s.state FROM attempt_entries e LEFT JOIN attempt_snapshots s ON s.id = e.id" +
		" WHERE e.id BETWEEN coalesce((SELECT max(id) FROM attempt_snapshots WHERE id BETWEEN ?1 AND ?2), ?1) AND ?2 ORDER BY e.id"
	var list []host.Entry
	err := db.read(ctx, func(c *conn) (err error) {
		list, err = collect(c, scanEntry, sql, entryID(attempt, 0), entryID(attempt, maxSeq))
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
		_, any, err := one(c, (*row).id, "SELECT id FROM attempt_entries WHERE id BETWEEN ? AND ? LIMIT 1", entryID(attempt, 0), entryID(attempt, maxSeq))
		if err != nil || !any {
			return orNotFound(err, "read history of attempt %d", attempt)
		}
		if err := c.query(func(r *row) { s.At, s.Snapshot = r.id()&maxSeq, r.blob() },
			"SELECT id, state FROM attempt_snapshots WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
			entryID(attempt, 0), entryID(attempt, first)-1); err != nil {
			return err
		}
		s.Entries, err = collect(c, scanEntry, "SELECT e.id, e.nonce, e.at, e.changes, e.events, s.state FROM attempt_entries e"+
			" LEFT JOIN attempt_snapshots s ON s.id = e.id WHERE e.id BETWEEN ? AND ? ORDER BY e.id LIMIT ?",
			entryID(attempt, first), entryID(attempt, maxSeq), n)
		return err
	})
	return s, err
}

func scanEntry(r *row) host.Entry {
	return host.Entry{Seq: r.id() & maxSeq, Nonce: r.text(), At: r.time(), Changes: r.blob(), Events: r.blob(), Snapshot: r.blob()}
}

// orNotFound is err, or host.ErrNotFound where there is none.
func orNotFound(err error, doing string, args ...any) error {
	if err == nil {
		err = host.ErrNotFound
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}
