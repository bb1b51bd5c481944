package sqlite

import (
	"context"
	"time"

	"zerodag/internal/host"
)

const selectSchedule = "SELECT s.id, s.site_id, p.id, p.name, s.workflow_definition_id, s.workflow_name," +
	" s.next_run_time, s.next_schedule_time, s.last_session_time, s.created_at, s.updated_at, s.disabled_at" +
	" FROM schedules s CROSS JOIN projects p ON p.id = s.project_id "

func scanSchedule(r *row) host.Schedule {
	return host.Schedule{ID: r.id(), Site: r.id(), Project: scanRef(r), Workflow: scanRef(r),
		Times: host.Times{Run: r.time(), Session: r.time(), Last: r.time()}, CreatedAt: r.time(), UpdatedAt: r.time(), DisabledAt: r.time()}
}

// Schedule returns a schedule.
func (db *DB) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	return readOne(ctx, db, scanSchedule, selectSchedule+"WHERE s.id = ? AND ? IN (-1, s.site_id)", id, site)
}

// Schedules lists schedules, ascending by id. Those of deleted projects are gone.
func (db *DB) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	s := selection(selectSchedule+"WHERE s.site_id = ? AND s.id > ?", q.Site, q.After)
	s.when(q.Project != 0, " AND s.project_id = ?", q.Project)
	s.when(q.Workflow != "", " AND s.workflow_name = ?", q.Workflow)
	s.when(true, " ORDER BY s.id LIMIT ?", limit(q.Count))
	return readAll(ctx, db, scanSchedule, s)
}

// Update moves a schedule: see host.Schedules.
func (db *DB) Update(ctx context.Context, s host.Schedule, old host.Times, at time.Time) error {
	return db.acknowledge(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE schedules SET next_run_time = ?, next_schedule_time = ?, last_session_time = ?, disabled_at = ?, updated_at = ?"+
			" WHERE id = ? AND site_id = ? AND next_run_time IS ? AND next_schedule_time IS ? AND last_session_time IS ?",
			s.Times.Run, s.Times.Session, s.Times.Last, s.DisabledAt, at, s.ID, s.Site, old.Run, old.Session, old.Last)
		if err != nil || n > 0 {
			return err
		}
		_, exists, err := one(c, (*row).id, "SELECT id FROM schedules WHERE id = ? AND site_id = ?", s.ID, s.Site)
		if err == nil && exists {
			return host.ErrConflict
		}
		return orNotFound(err, "update schedule %d", s.ID)
	})
}

// ended is the next run time of schedules that have ended; these are never due.
const ended = "253370764800000000"

// Due lists enabled schedules that are due, of all sites.
func (db *DB) Due(ctx context.Context, from, until time.Time, n int) ([]host.Schedule, error) {
	return readAll(ctx, db, scanSchedule, selection(selectSchedule+"WHERE s.disabled_at IS NULL AND s.next_run_time > ? AND s.next_run_time <= ? AND s.next_run_time < "+ended+
		" ORDER BY s.next_run_time, s.id LIMIT ?", from.UnixMicro(), until, limit(n)))
}

// EachDue implements host.Schedules: all at once, as they come from one file.
func (db *DB) EachDue(ctx context.Context, from, until time.Time, do func([]host.Schedule) error) error {
	list, err := db.Due(ctx, from, until, 0)
	if err != nil || len(list) == 0 {
		return err
	}
	return do(list)
}

// NextDue is when the next enabled schedule is due; zero when none ever is.
func (db *DB) NextDue(ctx context.Context) (time.Time, error) {
	list, err := readAll(ctx, db, (*row).time, selection("SELECT min(next_run_time) FROM schedules WHERE disabled_at IS NULL AND next_run_time < "+ended))
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0], nil
}
