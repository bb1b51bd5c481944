package sqlstore

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/host"
)

const noticeColumns = "id, unique_name, site_id, attempt_id, project_name, workflow_name, message, body, created_at," +
	" since, due, tries, error, given_up_at"

func scanNotice(r *Row) host.StoredNotice {
	return host.StoredNotice{ID: r.ID(), Key: r.Text(), Site: r.ID(), Attempt: r.ID(), Project: r.Text(), Workflow: r.Text(), Message: r.Text(),
		Body: r.Blob(), CreatedAt: r.Time(), Since: r.Time(), Due: r.Time(), Tries: r.Int(), Error: r.Text(), GivenUpAt: r.Time()}
}

// PutNotice stores a notice: see host.Outbox.
func (s *Store) PutNotice(ctx context.Context, n host.StoredNotice) error {
	return s.acknowledge(ctx, func(t tx) error {
		_, err := t.Exec("INSERT INTO @notices (unique_name, site_id, attempt_id, project_name, workflow_name, message, body, created_at, since, due, tries, error, given_up_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			n.Key, n.Site, n.Attempt, n.Project, n.Workflow, n.Message, n.Body, n.CreatedAt, n.Since, n.Due, n.Tries, n.Error, n.GivenUpAt)
		return err
	})
}

// Notices lists notices: see host.Outbox.
func (s *Store) Notices(ctx context.Context, q host.NoticeQuery) ([]host.StoredNotice, error) {
	list := Select("SELECT "+noticeColumns+" FROM @notices WHERE id > ?", q.After).ofSite("site_id", q.Site)
	list.When(q.ID != 0, " AND id = ?", q.ID)
	list.When(q.Attempt != 0, " AND attempt_id = ?", q.Attempt)
	list.When(q.GivenUp, " AND given_up_at IS NOT NULL")
	list.Order("id", q.Count)
	return ReadAll(ctx, s, scanNotice, list)
}

// DueNotices lists notices whose next try is due: see host.Outbox.
func (s *Store) DueNotices(ctx context.Context, at time.Time, n int) ([]host.StoredNotice, error) {
	q := Select("SELECT "+noticeColumns+" FROM @notices WHERE due IS NOT NULL AND due <= ?", at)
	q.Order("due, id", n)
	return ReadAll(ctx, s, scanNotice, q)
}

// UpdateNotice records a try: see host.Outbox.
func (s *Store) UpdateNotice(ctx context.Context, n host.StoredNotice, tries int) error {
	return s.write(ctx, func(t tx) error {
		changed, err := t.Exec("UPDATE @notices SET since = ?, due = ?, tries = ?, error = ?, given_up_at = ? WHERE id = ? AND tries = ?",
			n.Since, n.Due, n.Tries, n.Error, n.GivenUpAt, n.ID, tries)
		if err == nil && changed == 0 {
			return fmt.Errorf("update notice %d: %w", n.ID, host.ErrConflict)
		}
		return err
	})
}

// DeleteNotice removes a notice: see host.Outbox.
func (s *Store) DeleteNotice(ctx context.Context, id int64) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM @notices WHERE id = ?", id)
		return err
	})
}

// DropNotices removes old notices that were given up: see host.Outbox.
func (s *Store) DropNotices(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM @notices WHERE given_up_at < ?", before)
		return err
	})
}
