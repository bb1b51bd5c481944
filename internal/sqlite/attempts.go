package sqlite

import (
	"context"
	"time"

	"zerodag/internal/host"
)

// The bits of session_attempts.state_flags.
const (
	canceled = 1
	done     = 2
	success  = 4
	outputs  = 8
	paused   = 16
	ignored  = 32
)

// startsBits is how far the flags are shifted by the second at which an attempt is to begin, which lies above them: 0 is at
// once. There a program of before does not look.
const startsBits = 16

func startsFlag(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix() << startsBits
}

const attemptColumns = "a.id, a.site_id, a.session_id, n.session_uuid, n.session_time, a.project_id, coalesce(p.name, p.deleted_name)," +
	" a.workflow_definition_id, a.workflow_name, a.attempt_index, a.attempt_name, a.timezone, a.params, a.created_at, a.finished_at, a.state_flags, a.dependent_session_id, a.labels"

const attemptTables = " FROM session_attempts a CROSS JOIN sessions n ON n.id = a.session_id CROSS JOIN projects p ON p.id = a.project_id "

const selectAttempt = "SELECT " + attemptColumns + attemptTables

func scanAttempt(r *row) host.Attempt {
	a := host.Attempt{ID: r.id(), Site: r.id(), SessionID: r.id(), SessionUUID: r.text(), SessionTime: r.time(), Project: scanRef(r), Workflow: scanRef(r),
		Index: r.int(), RetryName: r.text(), Zone: r.text(), Params: r.tree(), CreatedAt: r.time(), FinishedAt: r.time()}
	flags := r.id()
	if at := flags >> startsBits; at != 0 {
		a.StartsAt = time.Unix(at, 0).UTC()
	}
	a.Canceled, a.Done, a.Success, a.HasOutputs = flags&canceled != 0, flags&done != 0, flags&success != 0, flags&outputs != 0
	a.Paused, a.Ignored = flags&paused != 0, flags&ignored != 0
	a.Waits, a.Labels = r.id(), r.tree()
	return a
}

// Attempt returns an attempt.
func (db *DB) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	return readOne(ctx, db, scanAttempt, selectAttempt+"WHERE a.id = ? AND ? IN (-1, a.site_id)", id, site)
}

// Cancel notes that a kill was requested.
func (db *DB) Cancel(ctx context.Context, id int64) error {
	return db.acknowledge(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE session_attempts SET state_flags = CASE WHEN finished_at IS NULL THEN state_flags | ? ELSE state_flags END WHERE id = ?", canceled, id)
		if err != nil || n == 0 {
			return orNotFound(err, "cancel attempt %d", id)
		}
		return nil
	})
}

// SetPaused notes whether the attempt is paused.
func (db *DB) SetPaused(ctx context.Context, id int64, on bool) error {
	flag := 0
	if on {
		flag = paused
	}
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE session_attempts SET state_flags = CASE WHEN finished_at IS NULL THEN (state_flags & ?) | ? ELSE state_flags END WHERE id = ?", ^paused, flag, id)
		if err != nil || n == 0 {
			return orNotFound(err, "pause attempt %d", id)
		}
		return nil
	})
}

// Finish ends an attempt: see host.Attempts.
func (db *DB) Finish(ctx context.Context, id int64, e host.End) error {
	flags := done
	if e.Success {
		flags |= success
	}
	if e.Canceled {
		flags |= canceled
	}
	if e.HasOutputs {
		flags |= outputs
	}
	if e.Ignored {
		flags |= ignored
	}
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE session_attempts SET state_flags = state_flags | ?, finished_at = ?, dependent_session_id = NULL WHERE id = ? AND finished_at IS NULL", flags, e.At, id)
		if err != nil {
			return err
		}
		if n == 0 {
			_, exists, err := one(c, (*row).id, "SELECT id FROM session_attempts WHERE id = ?", id)
			if err != nil || !exists {
				return orNotFound(err, "finish attempt %d", id)
			}
			return nil
		}
		_, err = c.exec("INSERT INTO attempt_archives (attempt_id, state) VALUES (?, ?)", id, e.Archive)
		return err
	})
}

// Archive returns the final state that Finish kept.
func (db *DB) Archive(ctx context.Context, id int64) ([]byte, error) {
	return readOne(ctx, db, (*row).blob, "SELECT state FROM attempt_archives WHERE attempt_id = ?", id)
}

// Expire deletes the logs of attempts that finished before t, each in a write of its own:
// others need not wait for all of them.
func (db *DB) Expire(ctx context.Context, t time.Time, n int) (int, error) {
	ids, err := readAll(ctx, db, (*row).id, selection("SELECT id FROM session_attempts"+
		" WHERE has_log = 1 AND finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?", t, limit(n)))
	if err != nil {
		return 0, err
	}
	for i, id := range ids {
		if err := db.write(ctx, func(c *conn) error { return c.expire(id) }); err != nil {
			return i, err
		}
	}
	return len(ids), nil
}

func (c *conn) expire(attempt int64) error {
	first, last := entryID(attempt, 0), entryID(attempt, maxSeq)
	for _, table := range []string{"attempt_entries", "attempt_snapshots"} {
		if _, err := c.exec("DELETE FROM "+table+" WHERE id BETWEEN ? AND ?", first, last); err != nil {
			return err
		}
	}
	_, err := c.exec("UPDATE session_attempts SET has_log = 0 WHERE id = ?", attempt)
	return err
}
