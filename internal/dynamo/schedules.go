package dynamo

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// schedules implements host.Schedules.
type schedules struct{ t *table.Table }

// Schedule returns a schedule.
func (db *schedules) Schedule(ctx context.Context, site, id int64) (host.Schedule, error) {
	it, err := db.t.Get(ctx, scheduleKey(id))
	if err != nil || it == nil || site != host.AnySite && it.Num(table.Site) != site {
		return host.Schedule{}, table.OrNotFound(err, "read schedule %d", id)
	}
	return scheduleOf(it), nil
}

// Schedules lists schedules, ascending by id. Schedules of deleted projects no longer exist.
func (db *schedules) Schedules(ctx context.Context, q host.ScheduleQuery) ([]host.Schedule, error) {
	l := db.t.ListOf(env.BySite(), table.Above(q.After), false, q.Count, []string{schedulesOfSite(q.Site)})
	if q.Project != 0 {
		l = db.t.ListOf(env.ByProject(), table.Above(q.After), false, q.Count, []string{schedulesOfProject(q.Project)})
	}
	var out []host.Schedule
	err := l.Rows(ctx, func(rows []table.Item) (bool, error) {
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
func (db *schedules) Update(ctx context.Context, s host.Schedule, old host.Times, at time.Time) error {
	s.UpdatedAt = at
	want := scheduleItem(s)
	w := table.Where{Text: "SET ", Values: table.Item{}}
	var gone string
	moved := []string{aRun, aNext, aLastTime, aUpdated, aDisabled, aListDue, aDue}
	for i, name := range moved {
		w.Names = append(w.Names, name)
		if want[name] == nil {
			gone += ", #" + name
			continue
		}
		if i > 0 && w.Text != "SET " {
			w.Text += ", "
		}
		w.Text += "#" + name + " = :" + name
		w.Values[":"+name] = want[name]
	}
	if gone != "" {
		w.Text += " REMOVE " + gone[2:]
	}
	when := still(old)
	when.Text += " AND #si = :site"
	when.Names = append(when.Names, table.Site)
	if when.Values == nil {
		when.Values = table.Item{}
	}
	when.Values[":site"] = table.Number(s.Site)
	if s.Site == 0 {
		when.Text = still(old).Text + " AND attribute_not_exists(#si)"
		delete(when.Values, ":site")
	}
	there, err := db.t.Update(ctx, scheduleKey(s.ID), w, when)
	if !errors.Is(err, table.ErrCondition) {
		return err
	}
	switch {
	case there == nil || there.Num(table.Site) != s.Site:
		return table.OrNotFound(nil, "update schedule %d", s.ID)
	case there.Same(want, moved):
		return nil // a response was lost: the existing one is ours
	}
	return host.ErrConflict
}

// Due lists enabled schedules that are due, of all sites.
func (db *schedules) Due(ctx context.Context, from, until time.Time, n int) ([]host.Schedule, error) {
	var out []host.Schedule
	err := db.eachDue(ctx, from, until, n, func(list []host.Schedule) (bool, error) {
		out = append(out, list...)
		return n > 0 && len(out) >= n, nil
	})
	return upTo(out, n), err
}

// EachDue implements host.Schedules.
func (db *schedules) EachDue(ctx context.Context, from, until time.Time, do func([]host.Schedule) error) error {
	return db.eachDue(ctx, from, until, 0, func(list []host.Schedule) (bool, error) {
		if len(list) == 0 {
			return false, nil
		}
		return false, do(list)
	})
}

// eachDue passes on schedules, the earliest first. A schedule that was moved while the list was read appears at its new
// time, so that a caller that records its progress does not skip others.
func (db *schedules) eachDue(ctx context.Context, from, until time.Time, n int, do func([]host.Schedule) (enough bool, err error)) error {
	l := db.t.ListOf(env.Due(), table.Span{From: max(0, from.UnixMicro()+1), To: until.UnixMicro()}, false, n, table.ByShard(dueSchedules))
	var moved []host.Schedule
	content := false
	err := l.Rows(ctx, func(rows []table.Item) (enough bool, err error) {
		list := moved
		for _, it := range rows {
			// The index may lag by a moment.
			if s := scheduleOf(it); it.Has(aListDue) && s.Times.Run.After(from) && !s.Times.Run.After(until) {
				list = append(list, s)
			}
		}
		slices.SortStableFunc(list, func(a, b host.Schedule) int { return a.Times.Run.Compare(b.Times.Run) })
		reached, _ := slices.BinarySearchFunc(list, l.Reached+1, func(s host.Schedule, at int64) int { return cmp.Compare(s.Times.Run.UnixMicro(), at) })
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

// NextDue returns when the next enabled schedule is due; zero if none ever is.
func (db *schedules) NextDue(ctx context.Context) (time.Time, error) {
	l := db.t.ListOf(env.Due(), table.Span{From: 0, To: math.MaxInt64}, false, 1, table.ByShard(dueSchedules))
	next, err := l.Peek(ctx)
	if err != nil || next == nil {
		return time.Time{}, err
	}
	return next.Time(aDue), nil
}

// deleteSchedules deletes the schedules that did not fit into a transaction.
func (db *schedules) deleteSchedules(ctx context.Context, ids []int64) error {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = scheduleKey(id)
	}
	return db.t.DeleteAll(ctx, keys)
}
