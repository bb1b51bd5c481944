package dynamo

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// Schedule returns a schedule.
func (db *DB) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	it, err := db.get(ctx, scheduleKey(id))
	if err != nil || it == nil || site != host.AnySite && it.num(aSite) != site {
		return host.Schedule{}, orNotFound(err, "read schedule %d", id)
	}
	return scheduleOf(it), nil
}

// Schedules lists schedules, ascending by id. Those of deleted projects are gone.
func (db *DB) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	l := db.listOf(env.BySite(), above(q.After), false, q.Count, []string{schedulesOfSite(q.Site)})
	if q.Project != 0 {
		l = db.listOf(env.ByProject(), above(q.After), false, q.Count, []string{schedulesOfProject(q.Project)})
	}
	var out []host.Schedule
	err := l.rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			if s := scheduleOf(it); s.Site == q.Site && (q.Workflow == "" || s.Workflow.Name == q.Workflow) {
				out = append(out, s)
			}
		}
		return q.Count > 0 && len(out) >= q.Count, nil
	})
	return upTo(out, q.Count), err
}

// Update moves a schedule: see host.Schedules.
func (db *DB) Update(ctx context.Context, s host.Schedule, old host.Times, at time.Time) error {
	s.UpdatedAt = at
	want := scheduleItem(s)
	w := where{text: "SET ", values: item{}}
	var gone string
	moved := []string{aRun, aNext, aLastTime, aUpdated, aDisabled, aListDue, aDue}
	for i, name := range moved {
		w.names = append(w.names, name)
		if want[name] == nil {
			gone += ", #" + name
			continue
		}
		if i > 0 && w.text != "SET " {
			w.text += ", "
		}
		w.text += "#" + name + " = :" + name
		w.values[":"+name] = want[name]
	}
	if gone != "" {
		w.text += " REMOVE " + gone[2:]
	}
	when := still(old)
	when.text += " AND #si = :site"
	when.names = append(when.names, aSite)
	if when.values == nil {
		when.values = item{}
	}
	when.values[":site"] = number(s.Site)
	if s.Site == 0 {
		when.text = still(old).text + " AND attribute_not_exists(#si)"
		delete(when.values, ":site")
	}
	there, err := db.update(ctx, scheduleKey(s.ID), w, when)
	if !errors.Is(err, errCondition) {
		return err
	}
	switch {
	case there == nil || there.num(aSite) != s.Site:
		return orNotFound(nil, "update schedule %d", s.ID)
	case there.same(want, moved):
		return nil // an answer was lost: it is our own
	}
	return host.ErrConflict
}

// Due lists enabled schedules that are due, of all sites.
func (db *DB) Due(ctx context.Context, from, until time.Time, n int) ([]host.Schedule, error) {
	var out []host.Schedule
	err := db.eachDue(ctx, from, until, n, func(list []host.Schedule) (bool, error) {
		out = append(out, list...)
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// EachDue implements host.Schedules.
func (db *DB) EachDue(ctx context.Context, from, until time.Time, do func([]host.Schedule) error) error {
	return db.eachDue(ctx, from, until, 0, func(list []host.Schedule) (bool, error) {
		if len(list) == 0 {
			return false, nil
		}
		return false, do(list)
	})
}

// eachDue hands out the earliest first. A schedule that was moved on while its list was read waits for
// those of its new time: whoever notes how far he has come must not pass others by.
func (db *DB) eachDue(ctx context.Context, from, until time.Time, n int, do func([]host.Schedule) (enough bool, err error)) error {
	l := db.listOf(env.Due(), span{max(0, from.UnixMicro()+1), until.UnixMicro()}, false, n, byShard(dueSchedules))
	var moved []host.Schedule
	content := false
	err := l.rows(ctx, func(rows []item) (enough bool, err error) {
		list := moved
		for _, it := range rows {
			// The index may be a moment behind.
			if s := scheduleOf(it); it.has(aListDue) && s.Times.Run.After(from) && !s.Times.Run.After(until) {
				list = append(list, s)
			}
		}
		slices.SortStableFunc(list, func(a, b host.Schedule) int { return a.Times.Run.Compare(b.Times.Run) })
		reached, _ := slices.BinarySearchFunc(list, l.reached+1, func(s host.Schedule, at int64) int { return cmp.Compare(s.Times.Run.UnixMicro(), at) })
		moved = slices.Clone(list[reached:])
		content, err = do(list[:reached])
		return content, err
	})
	if err != nil || content || len(moved) == 0 {
		return err
	}
	_, err = do(moved)
	return err
}

// NextDue is when the next enabled schedule is due; zero when none ever is.
func (db *DB) NextDue(ctx context.Context) (time.Time, error) {
	l := db.listOf(env.Due(), span{0, math.MaxInt64}, false, 1, byShard(dueSchedules))
	if err := l.fill(ctx); err != nil {
		return time.Time{}, err
	}
	if s := l.first(); s != nil {
		return s.found[0].time(aDue), nil
	}
	return time.Time{}, nil
}

// deleteSchedules deletes those that a transaction had no room for.
func (db *DB) deleteSchedules(ctx context.Context, ids []int64) error {
	keys := make([]key, len(ids))
	for i, id := range ids {
		keys[i] = scheduleKey(id)
	}
	return db.deleteAll(ctx, keys)
}
