package console

import (
	"context"
	"time"

	"zerodag/engine/schedule"
	"zerodag/internal/host"
)

// Upcoming lists up to n times of a schedule at or after a given time (zero: its next time), the earliest first. Times
// before its next one are omitted: they have passed or were skipped.
func (c *Console) Upcoming(ctx context.Context, site, id int64, from time.Time, n int) ([]schedule.Time, error) {
	s, times, err := c.Catalogue.TimesOf(ctx, site, id)
	if err != nil {
		return nil, err
	}
	zone := times.First(s.Times.Session).Time.Location() // the workflow's zone
	t := schedule.Time{Time: s.Times.Session.In(zone), RunTime: s.Times.Run}
	if from.After(s.Times.Session) {
		t = times.First(from)
	}
	var list []schedule.Time
	for ; len(list) < n && !t.IsEnded(); t = times.Next(t.Time) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// Date is one of a schedule's times with its session, if one exists.
type Date struct {
	Time    time.Time
	Session *host.Session // nil if none was started
	Ahead   bool          // the schedule itself will start it
}

// mostSearched is the maximum number of sessions that are read to find the sessions of given times.
const mostSearched = 20_000

// Dates lists up to n times of a schedule between two times, with the existing sessions. It shows which sessions a
// backfill of that time would start for the first time, and which it would repeat. all is false if the workflow has so
// many newer sessions that not all sessions of the times were found.
func (c *Console) Dates(ctx context.Context, site, id int64, from, until time.Time, n int) (list []Date, all bool, err error) {
	s, times, err := c.Catalogue.TimesOf(ctx, site, id)
	if err != nil {
		return nil, false, err
	}
	at := map[int64]int{}
	for t := times.First(from); len(list) < n && t.Time.Before(until) && !t.IsEnded(); t = times.Next(t.Time) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		at[t.Time.Unix()] = len(list)
		list = append(list, Date{Time: t.Time, Ahead: !t.Time.Before(s.Times.Session)})
	}
	for before, read := int64(0), 0; len(at) > 0 && read < mostSearched; read += datesAtOnce {
		page, err := c.Catalogue.Sessions(ctx, host.SessionQuery{Site: s.Site, Project: s.Project.ID, Workflow: s.Workflow.Name, Before: before, Count: datesAtOnce})
		if err != nil {
			return nil, false, err
		}
		for _, x := range page {
			if i, wanted := at[x.Time.Unix()]; wanted {
				list[i].Session = &x
				delete(at, x.Time.Unix())
			}
			before = x.ID
		}
		if len(page) < datesAtOnce {
			return list, true, nil
		}
	}
	return list, len(at) == 0, nil
}

// datesAtOnce is how many sessions are read at once.
const datesAtOnce = 1000
