package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/internal/host"
)

const (
	noticeColumns = "id, unique_name, channel, kind, site_id, attempt_id, project_name, workflow_name, message, body," +
		" created_at, since, due, tries, error, given_up_at"
	groupColumns = "unique_name, route, site_id, project_name, workflow_name, kind, quiet_until, seen, unsent," +
		" last_event, body"
)

func scanNotice(r *Row) host.StoredNotice {
	return host.StoredNotice{ID: r.ID(), Key: r.Text(), Channel: r.Text(), Kind: host.NoticeKind(r.Text()), Site: r.ID(), Attempt: r.ID(),
		Project: r.Text(), Workflow: r.Text(), Message: r.Text(), Body: r.Blob(),
		CreatedAt: r.Time(), Since: r.Time(), Due: r.Time(), Tries: r.Int(), Error: r.Text(), GivenUpAt: r.Time()}
}

func scanGroup(r *Row) host.NoticeGroup {
	return host.NoticeGroup{Key: r.Text(), Route: r.Text(), Site: r.ID(), Project: r.Text(), Workflow: r.Text(), Kind: host.NoticeKind(r.Text()),
		Until: r.Time(), Seen: r.Int(), Unsent: r.Int(), Last: r.Text(), Body: r.Blob()}
}

// PutNotices stores a notice for its channels: see host.Outbox.
func (s *Store) PutNotices(ctx context.Context, at time.Time, batches ...host.NoticeBatch) error {
	return s.acknowledge(ctx, func(t tx) error {
		for _, b := range batches {
			sends := true
			var err error
			if b.Group.Key != "" {
				sends, err = t.joinGroup(at, b)
			}
			if err == nil && sends {
				err = t.putNotices(b.Notices)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tx) putNotices(list []host.StoredNotice) error {
	for _, n := range list {
		_, err := t.Exec("INSERT INTO @notices (unique_name, channel, kind, site_id, attempt_id, project_name, workflow_name, message, body, created_at, since, due, tries, error, given_up_at)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			n.Key, n.Channel, string(n.Kind), n.Site, n.Attempt, n.Project, n.Workflow, n.Message, n.Body, n.CreatedAt, n.Since, n.Due, n.Tries, n.Error, n.GivenUpAt)
		if err != nil {
			return err
		}
	}
	return nil
}

// joinGroup adds a notice to its group, and reports whether it must be sent. Each statement both decides and locks the
// row, so that concurrent transactions send only one notice.
func (t tx) joinGroup(at time.Time, b host.NoticeBatch) (sends bool, err error) {
	g := b.Group
	quiet := !g.Until.IsZero()
	if !quiet {
		g.Until = at
	}
	for range 3 { // a group may be removed between two statements
		changed, err := t.Exec("INSERT INTO @notice_groups ("+groupColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?) ON CONFLICT DO NOTHING",
			g.Key, g.Route, g.Site, g.Project, g.Workflow, string(g.Kind), g.Until, b.Event, g.Body)
		if err != nil || changed == 1 {
			return changed == 1, err
		}
		if quiet {
			changed, err = t.Exec("UPDATE @notice_groups SET seen = seen + 1, unsent = unsent + 1, last_event = ?, body = ?"+
				" WHERE unique_name = ? AND last_event <> ? AND (quiet_until > ? OR unsent > 0)", b.Event, g.Body, g.Key, b.Event, at)
			if err != nil || changed == 1 {
				return false, err
			}
		}
		changed, err = t.Exec("UPDATE @notice_groups SET seen = seen + 1, last_event = ?, body = ?, quiet_until = ?"+
			" WHERE unique_name = ? AND last_event <> ?", b.Event, g.Body, g.Until, g.Key, b.Event)
		if err != nil || changed == 1 {
			return changed == 1, err
		}
		_, there, err := One(t, (*Row).Text, "SELECT unique_name FROM @notice_groups WHERE unique_name = ?", g.Key)
		if err != nil || there { // a repeated call
			return false, err
		}
	}
	return false, fmt.Errorf("join notice group %s: %w", g.Key, host.ErrUnavailable)
}

// Notices lists notices: see host.Outbox.
func (s *Store) Notices(ctx context.Context, q host.NoticeQuery) ([]host.StoredNotice, error) {
	list := Select("SELECT "+noticeColumns+" FROM @notices WHERE id > ?", q.After).ofSite("site_id", q.Site)
	list.When(q.ID != 0, " AND id = ?", q.ID)
	list.When(q.Attempt != 0, " AND attempt_id = ?", q.Attempt)
	list.When(q.Channel != "", " AND channel = ?", q.Channel)
	list.When(q.GivenUp, " AND given_up_at IS NOT NULL")
	list.When(q.Waiting, " AND due IS NOT NULL")
	list.Order("id", q.Count)
	return ReadAll(ctx, s, scanNotice, list)
}

// DueNotices lists notices whose next try is due: see host.Outbox.
func (s *Store) DueNotices(ctx context.Context, channel string, at time.Time, n int) ([]host.StoredNotice, error) {
	q := Select("SELECT "+noticeColumns+" FROM @notices WHERE channel = ? AND due IS NOT NULL AND due <= ?", channel, at)
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

// DropGroups removes old groups: see host.NoticeRecords.
func (s *Store) DropGroups(ctx context.Context, before time.Time, kinds []host.NoticeKind, routes []string) error {
	q := Select("DELETE FROM @notice_groups WHERE quiet_until < ? AND unsent = 0", before)
	among(q, "kind IN", kinds)
	among(q, "route IN", routes)
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec(q.SQL, q.Args...)
		return err
	})
}

// among restricts rows to those whose column is, or is not, one of the given strings, unless there are none.
func among[T ~string](q *Query, is string, texts []T) {
	if len(texts) == 0 {
		return
	}
	q.When(true, " AND "+is+" (?"+strings.Repeat(", ?", len(texts)-1)+")")
	for _, text := range texts {
		q.Args = append(q.Args, string(text))
	}
}

// NoticeGroups lists groups: see host.Outbox.
func (s *Store) NoticeGroups(ctx context.Context, q host.GroupQuery) ([]host.NoticeGroup, error) {
	list := Select("SELECT "+groupColumns+" FROM @notice_groups WHERE unsent >= 0").ofSite("site_id", q.Site)
	list.When(q.Workflow != "", " AND project_name = ? AND workflow_name = ?", q.Project, q.Workflow)
	list.When(!q.Due.IsZero(), " AND unsent > 0 AND quiet_until <= ?", q.Due)
	among(list, "route IN", q.Routes)
	among(list, "route NOT IN", q.Without)
	list.Order("unique_name", q.Count)
	return ReadAll(ctx, s, scanGroup, list)
}

// EndQuiet changes or removes groups, and stores notices: see host.Outbox.
func (s *Store) EndQuiet(ctx context.Context, groups []host.NoticeGroup, until time.Time, notices ...host.StoredNotice) error {
	return s.acknowledge(ctx, func(t tx) error {
		for _, g := range groups {
			const unchanged = " WHERE unique_name = ? AND seen = ? AND quiet_until = ?"
			sql, args := "DELETE FROM @notice_groups"+unchanged, []any{g.Key, g.Seen, g.Until}
			if !until.IsZero() {
				sql, args = "UPDATE @notice_groups SET quiet_until = ?, unsent = 0"+unchanged, append([]any{until}, args...)
			}
			changed, err := t.Exec(sql, args...)
			if err == nil && changed == 0 {
				err = fmt.Errorf("end the quiet time of %s: %w", g.Key, host.ErrConflict)
			}
			if err != nil {
				return err
			}
		}
		return t.putNotices(notices)
	})
}

// NoteDelivery records the outcome of a try: see host.Outbox.
func (s *Store) NoteDelivery(ctx context.Context, channel, problem string, at time.Time) error {
	return s.write(ctx, func(t tx) error {
		sql := "INSERT INTO @notice_channels (name, delivered_at, error) VALUES (?, ?, ?)" +
			" ON CONFLICT (name) DO UPDATE SET delivered_at = excluded.delivered_at"
		if problem != "" {
			sql = "INSERT INTO @notice_channels (name, failed_at, error) VALUES (?, ?, ?)" +
				" ON CONFLICT (name) DO UPDATE SET failed_at = excluded.failed_at, error = excluded.error"
		}
		_, err := t.Exec(sql, channel, at, problem)
		return err
	})
}

// Deliveries lists the channels' outcomes: see host.Outbox.
func (s *Store) Deliveries(ctx context.Context) ([]host.ChannelDelivery, error) {
	return ReadAll(ctx, s, func(r *Row) host.ChannelDelivery {
		return host.ChannelDelivery{Channel: r.Text(), DeliveredAt: r.Time(), FailedAt: r.Time(), Error: r.Text(), Waiting: r.Int()}
	}, Select("SELECT c.name, c.delivered_at, c.failed_at, c.error, (SELECT count(*) FROM @notices n WHERE n.channel = c.name AND n.due IS NOT NULL)"+
		" FROM @notice_channels c ORDER BY c.name"))
}
