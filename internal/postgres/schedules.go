package postgres

import (
	"context"
	"math"
	"time"

	"zerodag/internal/host"
)

const selectSchedule = "SELECT s.id, s.site_id, p.id, p.name, s.workflow_definition_id, s.workflow_name," +
	" s.next_run_time, s.next_schedule_time, s.last_session_time, s.created_at, s.updated_at, s.disabled_at" +
	" FROM schedules s JOIN projects p ON p.id = s.project_id "

func scanSchedule(r *row) host.Schedule {
	return host.Schedule{ID: r.id(), Site: r.id(), Project: scanRef(r), Workflow: scanRef(r),
		Times: host.Times{Run: r.time(), Session: r.time(), Last: r.time()}, CreatedAt: r.time(), UpdatedAt: r.time(), DisabledAt: r.time()}
}

// Schedule returns a schedule.
func (db *DB) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	return readOne(ctx, db, scanSchedule, selection(selectSchedule+"WHERE s.id = ? AND ?::bigint IN (-1, s.site_id)", id, site))
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
	return db.write(ctx, func(c *conn) error {
		n, err := c.exec("UPDATE schedules SET next_run_time = $1, next_schedule_time = $2, last_session_time = $3, disabled_at = $4, updated_at = $5"+
			" WHERE id = $6 AND site_id = $7 AND next_run_time IS NOT DISTINCT FROM $8 AND next_schedule_time IS NOT DISTINCT FROM $9 AND last_session_time IS NOT DISTINCT FROM $10",
			s.Times.Run, s.Times.Session, s.Times.Last, s.DisabledAt, at, s.ID, s.Site, old.Run, old.Session, old.Last)
		if err != nil || n > 0 {
			return err
		}
		_, exists, err := one(c, (*row).id, "SELECT id FROM schedules WHERE id = $1 AND site_id = $2", s.ID, s.Site)
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
	return db.dueBehind(ctx, from.UnixMicro(), math.MaxInt64, until, n)
}

// dueBehind lists those behind a place in the order of run times and ids.
func (db *DB) dueBehind(ctx context.Context, run, id int64, until time.Time, n int) ([]host.Schedule, error) {
	return readAll(ctx, db, scanSchedule, selection(selectSchedule+"WHERE s.disabled_at IS NULL AND (s.next_run_time, s.id) > (?, ?) AND s.next_run_time <= ? AND s.next_run_time < "+ended+
		" ORDER BY s.next_run_time, s.id LIMIT ?", run, id, until, limit(n)))
}

// part is how many schedules are read at a time.
const part = 500

// EachDue implements host.Schedules: a part after the other, each from behind the last one of the part before. One
// that moves meanwhile is due at another time then.
func (db *DB) EachDue(ctx context.Context, from, until time.Time, do func([]host.Schedule) error) error {
	run, id := from.UnixMicro(), int64(math.MaxInt64) // all of the time from are before it
	for {
		list, err := db.dueBehind(ctx, run, id, until, part)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := do(list); err != nil || len(list) < part {
			return err
		}
		last := list[len(list)-1]
		run, id = last.Times.Run.UnixMicro(), last.ID
	}
}

// NextDue is when the next enabled schedule is due; zero when none ever is.
func (db *DB) NextDue(ctx context.Context) (time.Time, error) {
	list, err := readAll(ctx, db, (*row).time, selection("SELECT min(next_run_time) FROM schedules WHERE disabled_at IS NULL AND next_run_time < "+ended))
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0], nil
}
