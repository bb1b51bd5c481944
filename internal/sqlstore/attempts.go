package sqlstore

import (
	"context"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// The bits of session_attempts.state_flags.
const (
	Canceled = 1 // a kill was requested
	done     = 2
	success  = 4
	outputs  = 8
	Paused   = 16 // the attempt is paused
	ignored  = 32
	imported = 64
)

// bit returns flag if on is set, otherwise 0.
func bit(on bool, flag int) int {
	if on {
		return flag
	}
	return 0
}

// startsBits is the number of bits for flags. The bits above them hold the second at which an attempt will begin: 0
// means at once.
const startsBits = 16

func startsFlag(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix() << startsBits
}

const attemptColumns = "a.id, a.site_id, a.session_id, n.session_uuid, n.session_time, a.project_id," +
	" coalesce(p.name, p.deleted_name), a.workflow_definition_id, a.workflow_name, a.attempt_index, a.attempt_name," +
	" a.timezone, a.params, a.created_at, a.finished_at, a.state_flags, a.dependent_session_id, a.labels"

func scanAttempt(r *Row) host.Attempt {
	a := host.Attempt{ID: r.ID(), Site: r.ID(), SessionID: r.ID(), SessionUUID: r.Text(), SessionTime: r.Time(),
		Project: scanRef(r), Workflow: scanRef(r), Index: r.Int(), RetryName: r.Text(), Zone: r.Text(), Params: r.Tree(),
		CreatedAt: r.Time(), FinishedAt: r.Time()}
	flags := r.ID()
	if at := flags >> startsBits; at != 0 {
		a.StartsAt = time.Unix(at, 0).UTC()
	}
	a.Canceled, a.Done, a.Success = flags&Canceled != 0, flags&done != 0, flags&success != 0
	a.HasOutputs, a.Paused, a.Ignored = flags&outputs != 0, flags&Paused != 0, flags&ignored != 0
	a.Imported = flags&imported != 0
	a.AfterSession, a.Labels = r.ID(), r.Tree()
	return a
}

// Attempt returns an attempt.
func (s *Store) Attempt(ctx context.Context, site, id int64) (host.Attempt, error) {
	return ReadOne(ctx, s, scanAttempt, Select(s.texts.attempt+"WHERE a.id = ?", id).ofSite("a.site_id", site))
}

// Attempts lists attempts in descending order of id.
func (s *Store) Attempts(ctx context.Context, q host.AttemptQuery) ([]host.Attempt, error) {
	list := s.dialect.Attempts(s.texts.attempt, q)
	list.Order("1 DESC", q.Count)
	return readPage(ctx, s, scanAttempt, func(a host.Attempt) *param.Map { return a.Params }, q.Bytes, list)
}

// Active lists unfinished attempts in ascending order of id.
func (s *Store) Active(ctx context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	list := Select(s.texts.attempt+"WHERE a.finished_at IS NULL AND a.id > ?", q.After)
	list.When(q.Site >= 0, " AND a.site_id = ?", q.Site)
	list.Order("a.id", q.Count)
	return ReadAll(ctx, s, scanAttempt, list)
}

// CountActive counts unfinished attempts of a site, up to a limit.
func (s *Store) CountActive(ctx context.Context, site int64, most int) (int, error) {
	few := Select("SELECT count(*) FROM (SELECT 1 FROM @session_attempts WHERE finished_at IS NULL AND site_id = ?", site)
	few.When(most > 0, " LIMIT ?", most)
	few.When(true, ") AS few")
	return ReadOne(ctx, s, (*Row).Int, few)
}

// Waiting lists attempts that wait for a session.
func (s *Store) Waiting(ctx context.Context, session int64) ([]host.Attempt, error) {
	return ReadAll(ctx, s, scanAttempt, Select(s.texts.attempt+"WHERE a.dependent_session_id = ? ORDER BY a.id", session))
}

// flag sets and clears flags of an attempt that has not finished.
func (t tx) flag(id int64, clear, set int, doing string) error {
	n, err := t.Exec("UPDATE @session_attempts SET state_flags = CASE WHEN finished_at IS NULL"+
		" THEN (state_flags & ?) | ? ELSE state_flags END WHERE id = ?", ^clear, set, id)
	if err != nil || n == 0 {
		return OrNotFound(err, doing+" attempt %d", id)
	}
	return nil
}

// Cancel records that a kill was requested.
func (s *Store) Cancel(ctx context.Context, id int64) error {
	return s.acknowledge(ctx, func(t tx) error { return t.flag(id, 0, Canceled, "cancel") })
}

// SetPaused records whether the attempt is paused.
func (s *Store) SetPaused(ctx context.Context, id int64, on bool) error {
	return s.write(ctx, func(t tx) error { return t.flag(id, Paused, bit(on, Paused), "pause") })
}

// Finish ends an attempt: see host.Attempts.
func (s *Store) Finish(ctx context.Context, id int64, e host.End) error {
	flags := done | bit(e.Success, success) | bit(e.Canceled, Canceled) | bit(e.HasOutputs, outputs) |
		bit(e.Ignored, ignored)
	return s.write(ctx, func(t tx) error {
		n, err := t.Exec("UPDATE @session_attempts SET state_flags = state_flags | ?, finished_at = ?,"+
			" dependent_session_id = NULL WHERE id = ? AND finished_at IS NULL", flags, e.At, id)
		if err != nil {
			return err
		}
		if n == 0 {
			_, exists, err := One(t, (*Row).ID, "SELECT id FROM @session_attempts WHERE id = ?", id)
			if err != nil || !exists {
				return OrNotFound(err, "finish attempt %d", id)
			}
			return nil
		}
		_, err = t.Exec("INSERT INTO @attempt_archives (attempt_id, state) VALUES (?, ?)", id, e.Archive)
		return err
	})
}

// Archive returns the final state that Finish kept.
func (s *Store) Archive(ctx context.Context, id int64) ([]byte, error) {
	return ReadOne(ctx, s, (*Row).Blob, Select("SELECT state FROM @attempt_archives WHERE attempt_id = ?", id))
}

// Expire deletes the logs of attempts that finished before a time, each in a separate transaction, so that other
// writers do not have to wait for all of these deletions.
func (s *Store) Expire(ctx context.Context, before time.Time, n int) (int, error) {
	old := Select("SELECT id FROM @session_attempts WHERE has_log = "+s.dialect.True+
		" AND finished_at IS NOT NULL AND finished_at < ?", before)
	old.Order("finished_at", n)
	ids, err := ReadAll(ctx, s, (*Row).ID, old)
	if err != nil {
		return 0, err
	}
	for i, id := range ids {
		if err := s.driver.Write(ctx, func(c Conn) error { return s.driver.EraseLog(c, id) }); err != nil {
			return i, err
		}
	}
	return len(ids), nil
}
