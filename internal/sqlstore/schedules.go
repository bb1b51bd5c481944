package sqlstore

import (
	"context"
	"math"
	"time"

	"zerodag/internal/host"
)

func scanSchedule(r *Row) host.Schedule {
	return host.Schedule{ID: r.ID(), Site: r.ID(), Project: scanRef(r), Workflow: scanRef(r),
		Times: host.Times{Run: r.Time(), Session: r.Time(), Last: r.Time()}, CreatedAt: r.Time(), UpdatedAt: r.Time(),
		DisabledAt: r.Time()}
}

// Schedule returns a schedule.
func (s *Store) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	return ReadOne(ctx, s, scanSchedule, Select(s.texts.schedule+"WHERE s.id = ?", id).ofSite("s.site_id", site))
}

// Schedules lists schedules in ascending order of id. Schedules of deleted projects no longer exist.
func (s *Store) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	list := Select(s.texts.schedule+"WHERE s.site_id = ? AND s.id > ?", q.Site, q.After)
	list.When(q.Project != 0, " AND s.project_id = ?", q.Project)
	list.When(q.Workflow != "", " AND s.workflow_name = ?", q.Workflow)
	list.Order("s.id", q.Count)
	return ReadAll(ctx, s, scanSchedule, list)
}

// Update moves a schedule: see host.Schedules.
func (s *Store) Update(ctx context.Context, to host.Schedule, old host.Times, at time.Time) error {
	return s.acknowledge(ctx, func(t tx) error {
		same := " " + t.dialect.Same + " ?"
		n, err := t.Exec("UPDATE @schedules SET next_run_time = ?, next_schedule_time = ?, last_session_time = ?,"+
			" disabled_at = ?, updated_at = ? WHERE id = ? AND site_id = ? AND next_run_time"+same+
			" AND next_schedule_time"+same+" AND last_session_time"+same,
			to.Times.Run, to.Times.Session, to.Times.Last, to.DisabledAt, at, to.ID, to.Site, old.Run, old.Session, old.Last)
		if err != nil || n > 0 {
			return err
		}
		_, exists, err := One(t, (*Row).ID, "SELECT id FROM @schedules WHERE id = ? AND site_id = ?", to.ID, to.Site)
		if err == nil && exists {
			return host.ErrConflict
		}
		return OrNotFound(err, "update schedule %d", to.ID)
	})
}

// ended is the next run time of schedules that have ended, which are never due.
const ended = "253370764800000000"

// Due lists the enabled schedules of all sites that are due.
func (s *Store) Due(ctx context.Context, from, until time.Time, n int) ([]host.Schedule, error) {
	return s.dueAfter(ctx, from.UnixMicro(), math.MaxInt64, until, n)
}

// dueAfter lists due schedules after a position in the order of run times and IDs.
func (s *Store) dueAfter(ctx context.Context, run, id int64, until time.Time, n int) ([]host.Schedule, error) {
	q := Select(s.texts.schedule+"WHERE s.disabled_at IS NULL AND (s.next_run_time, s.id) > (?, ?)"+
		" AND s.next_run_time <= ? AND s.next_run_time < "+ended, run, id, until)
	q.Order("s.next_run_time, s.id", n)
	return ReadAll(ctx, s, scanSchedule, q)
}

// part is how many schedules are read at a time.
const part = 500

// EachDue implements host.Schedules: it reads one part after the other, each starting after the last schedule of the
// previous part. A schedule that moves in the meantime is due at its new time.
func (s *Store) EachDue(ctx context.Context, from, until time.Time, do func([]host.Schedule) error) error {
	run, id := from.UnixMicro(), int64(math.MaxInt64) // all schedules that run at from come before it
	for {
		list, err := s.dueAfter(ctx, run, id, until, part)
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

// NextDue returns when the next enabled schedule is due; zero if none ever will be.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	list, err := ReadAll(ctx, s, (*Row).Time, Select("SELECT min(next_run_time) FROM @schedules"+
		" WHERE disabled_at IS NULL AND next_run_time < "+ended))
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0], nil
}
