package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"zerodag/internal/client"
)

// How far `status` looks.
const (
	recently   = 24 * time.Hour     // failures
	late       = time.Minute        // after which a schedule that has not fired is late
	mostComing = 10                 // schedules that come next
	longest    = 7 * 24 * time.Hour // that an attempt runs, unless the server was set up otherwise
	mostRead   = 1000               // attempts, sessions, and projects
)

// status is what `status` shows.
type status struct {
	Paused  []client.Project  `json:"paused"` // of which nothing starts
	Running []client.Attempt  `json:"running"`
	Failed  []client.Session  `json:"failed"` // whose last attempt failed within a day
	Late    []client.Schedule `json:"late"`
	Next    []client.Schedule `json:"next"`
	// Partly is that there are more attempts or sessions of that time, or projects, than were looked at.
	Partly bool `json:"partly"`
}

// newStatus says what runs, what failed, what is late and what comes next.
func newStatus(s streams) *cobra.Command {
	r := &remote{streams: s}
	c := &cobra.Command{Use: "status [project-name]", Short: "Show what runs, what failed in the last day, what is late and what comes next"}
	return r.command(c, 0, 1, func(ctx context.Context, args []string) error {
		if err := r.open(ctx); err != nil {
			return err
		}
		now := time.Now()
		found, err := r.status(ctx, args, now)
		if err != nil {
			return err
		}
		return r.show(found, func(p printer) {
			columns, ink := look(r.out)
			part := func(title string, t *table) {
				if len(t.rows) == 0 {
					p.line("%s: nothing", title)
					return
				}
				p.line("%s:", title)
				p.WriteString(t.text(r.format == wideForm, columns, ink))
			}
			if len(found.Paused) > 0 {
				part("Paused, so that nothing of it starts", pausedTable(found.Paused))
			}
			part("Running", attemptTable(now, found.Running))
			part("Failed in the last day", sessionTable(found.Failed))
			part("Late", scheduleTable(now, found.Late, found.Paused))
			part("Next", scheduleTable(now, found.Next, found.Paused))
			if found.Partly {
				p.line("Only the last %d attempts and sessions, and the first %d projects, were looked at.", mostRead, mostRead)
			}
		})
	})
}

// status reads the attempts of a week, the sessions of a day and the projects, up to a thousand of each, and all schedules.
func (r *remote) status(ctx context.Context, args []string, now time.Time) (status, error) {
	found := status{Paused: []client.Project{}, Running: []client.Attempt{}, Failed: []client.Session{}, Late: []client.Schedule{}, Next: []client.Schedule{}}
	var project client.ID
	projects, err := r.listProjects(ctx, args, client.Page{Count: mostRead}, "")
	if err != nil {
		return found, err
	}
	if len(args) == 1 {
		project = projects[0].ID
	}
	found.Partly = len(projects) == mostRead
	found.Paused = append(found.Paused, thePaused(projects)...)
	partly, err := pages(func(p client.Page) ([]client.Session, error) { return r.Sessions(ctx, project, "", p) }, func(s client.Session) (client.ID, bool) {
		a := s.LastAttempt
		if a != nil && a.Done && !a.Success && !a.CancelRequested && now.Sub(a.CreatedAt) <= recently {
			found.Failed = append(found.Failed, s)
		}
		return s.ID, a != nil && now.Sub(a.CreatedAt) > recently
	})
	if err != nil {
		return found, err
	}
	more, err := pages(func(p client.Page) ([]client.Attempt, error) { return r.Attempts(ctx, "", p) }, func(a client.Attempt) (client.ID, bool) {
		if !a.Done && (project == "" || a.Project.ID == project) {
			found.Running = append(found.Running, a)
		}
		return a.ID, now.Sub(a.CreatedAt) > longest
	})
	if err != nil {
		return found, err
	}
	found.Partly = found.Partly || partly || more
	schedules, err := r.AllSchedules(ctx, project)
	if err != nil {
		return found, err
	}
	found.divide(schedules, now)
	return found, nil
}

// pages reads a list, the newest first, until look says that the rest is too old. cut says that it was not
// read to there.
func pages[T any](read func(client.Page) ([]T, error), look func(T) (id client.ID, old bool)) (cut bool, err error) {
	const size = 100
	for p, n := (client.Page{Count: size}), 0; ; {
		list, err := read(p)
		if err != nil {
			return false, err
		}
		for _, x := range list {
			id, old := look(x)
			if old {
				return false, nil
			}
			p.Last = id
		}
		if n += len(list); len(list) == 0 { // a short page may be one of large parameters
			return false, nil
		}
		if n >= mostRead {
			return true, nil
		}
	}
}

// divide puts schedules that run to those that are late or come next, the earliest first.
func (s *status) divide(schedules []client.Schedule, now time.Time) {
	slices.SortStableFunc(schedules, func(a, b client.Schedule) int { return a.NextRunTime.Compare(b.NextRunTime) })
	for _, one := range schedules {
		switch {
		case one.DisabledAt != nil:
		case now.Sub(one.NextRunTime) > late:
			s.Late = append(s.Late, one)
		case len(s.Next) < mostComing:
			s.Next = append(s.Next, one)
		}
	}
}

func pausedTable(list []client.Project) *table {
	t := newTable(column{title: "PROJECT", name: true}, column{title: "PAUSED"})
	for _, p := range list {
		t.add(p.Name, pausedBy(p.Paused))
	}
	return t
}
