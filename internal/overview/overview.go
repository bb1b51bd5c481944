package overview

import (
	"context"
	"slices"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/schedule"
	"zerodag/internal/client"
)

// Limits on an overview.
const (
	recently   = 24 * time.Hour     // failures
	late       = time.Minute        // after which a schedule that has not fired is late
	mostComing = 10                 // schedules that come next
	longest    = 7 * 24 * time.Hour // that an attempt may run, unless the server is configured otherwise
)

// Most is the largest number of attempts, sessions and projects that are read.
const Most = 1000

// Overview holds a server's current, past and upcoming work.
type Overview struct {
	Paused  []client.Project  `json:"paused"` // in which nothing starts
	Running []client.Attempt  `json:"running"`
	Failed  []client.Session  `json:"failed"` // whose last attempt failed within a day
	Late    []client.Schedule `json:"late"`
	Next    []client.Schedule `json:"next"`
	// Notices holds notifications that could not be delivered so far.
	Notices []client.Notice `json:"notices"`
	// Servers holds the servers of the database; it is empty if the caller must not see them.
	Servers []client.Server `json:"servers"`
	// Kept holds the server's limits on the age of attempts and logs; it is empty if the caller may not see them.
	Kept []client.Limit `json:"kept"`
	// Partly means that the server has more attempts or sessions of that time, or more projects, than were read.
	Partly bool `json:"partly"`

	refused map[client.ID]bool // schedules whose session could not start
}

// Of reads the attempts of a week and the sessions of a day, up to Most of each, and all schedules. It modifies
// projects, which holds the projects of the server or, if alone, the one project that the overview is about.
func Of(ctx context.Context, api *client.Client, projects []client.Project, alone bool, now time.Time) (Overview, error) {
	found := Overview{Paused: []client.Project{}, Running: []client.Attempt{}, Failed: []client.Session{}, Late: []client.Schedule{}, Next: []client.Schedule{}, Notices: []client.Notice{}, Servers: []client.Server{}, Kept: []client.Limit{}}
	var project client.ID
	if alone {
		project = projects[0].ID
	}
	found.Partly = len(projects) == Most
	found.Paused = append(found.Paused, Paused(projects)...)
	partly, err := Pages(func(p client.Page) ([]client.Session, error) { return api.Sessions(ctx, project, "", p) }, func(s client.Session) (client.ID, bool) {
		a := s.LastAttempt
		if a != nil && hasFailed(a) && now.Sub(a.CreatedAt) <= recently {
			found.Failed = append(found.Failed, s)
		}
		return s.ID, a != nil && now.Sub(a.CreatedAt) > recently
	})
	if err != nil {
		return found, err
	}
	more, err := Pages(func(p client.Page) ([]client.Attempt, error) { return api.Attempts(ctx, "", p) }, func(a client.Attempt) (client.ID, bool) {
		if !a.Done && (project == "" || a.Project.ID == project) {
			found.Running = append(found.Running, a)
		}
		return a.ID, now.Sub(a.CreatedAt) > longest
	})
	if err != nil {
		return found, err
	}
	found.Partly = found.Partly || partly || more
	if err := found.undelivered(ctx, api, projects, alone); err != nil {
		return found, err
	}
	if err := found.servers(ctx, api); err != nil {
		return found, err
	}
	if err := found.kept(ctx, api); err != nil {
		return found, err
	}
	schedules, err := api.AllSchedules(ctx, project)
	if err != nil {
		return found, err
	}
	if found.refused, err = refused(ctx, api, schedules, found.Paused, now); err != nil {
		return found, err
	}
	found.divide(schedules, now)
	return found, nil
}

// undelivered adds notifications that were tried at least once. An older server, and one that keeps no notifications,
// has none.
func (s *Overview) undelivered(ctx context.Context, api *client.Client, projects []client.Project, alone bool) error {
	list, err := api.Notices(ctx, "", Most)
	if client.IsMissing(err) {
		return nil
	}
	for _, n := range list {
		if n.Error != nil && (!alone || n.Project != nil && *n.Project == projects[0].Name) {
			s.Notices = append(s.Notices, n)
		}
	}
	return err
}

// servers adds the servers of the database. An older server, and one without a list of servers, has none.
func (s *Overview) servers(ctx context.Context, api *client.Client) error {
	list, err := api.Servers(ctx)
	if client.IsMissing(err) || client.IsDenied(err) {
		return nil
	}
	s.Servers = append(s.Servers, list.Servers...)
	return err
}

// kept adds how long attempts and logs are kept. An older server has no such limits.
func (s *Overview) kept(ctx context.Context, api *client.Client) error {
	list, err := api.Limits(ctx)
	if client.IsMissing(err) || client.IsDenied(err) {
		return nil
	}
	for _, l := range list {
		if l.Name == "keep_attempts" || l.Name == "keep_logs" {
			s.Kept = append(s.Kept, l)
		}
	}
	return err
}

// Several returns how many servers are in each state, or nil if there is one server that works.
func (s *Overview) Several() map[string]int {
	states := map[string]int{}
	for _, x := range s.Servers {
		states[x.State]++
	}
	if len(s.Servers) <= 1 && states["lost"]+states["silent"] == 0 {
		return nil
	}
	return states
}

// hasFailed reports whether an attempt failed without being killed.
func hasFailed(a *client.Last) bool { return a.Done && !a.Success && !a.CancelRequested }

// Limits for finding schedules whose session could not start: a server retries within an hour (retried), and at most
// mostMeasured definitions are read.
const (
	retried      = time.Hour
	mostMeasured = 20
)

// refused finds schedules whose session was due according to their workflow's rule but could not start, and will be
// retried later.
func refused(ctx context.Context, api *client.Client, schedules []client.Schedule, paused []client.Project, now time.Time) (map[client.ID]bool, error) {
	found, read := map[client.ID]bool{}, 0
	for _, s := range schedules {
		wait := s.NextRunTime.Sub(now)
		isPaused := slices.ContainsFunc(paused, func(p client.Project) bool { return p.ID == s.Project.ID })
		if s.DisabledAt != nil || isPaused || wait <= 0 || wait > retried || now.Sub(s.NextScheduleTime) <= late || read == mostMeasured {
			continue
		}
		read++
		w, err := api.Definition(ctx, s.Workflow.ID)
		if client.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		zone, err := schedule.Zone(w.Timezone)
		if err != nil {
			continue
		}
		rule, err := dig.ScheduleHere(w.Config, zone)
		if err == nil && rule != nil && now.Sub(rule.RunTime(s.NextScheduleTime)) > late {
			found[s.ID] = true
		}
	}
	return found, nil
}

// Pages reads a list, newest first, until look reports that the rest is too old. cut reports whether it ended earlier
// because more than Most entries were read.
func Pages[T any](read func(client.Page) ([]T, error), look func(T) (id client.ID, old bool)) (cut bool, err error) {
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
		if n += len(list); len(list) == 0 { // a page may be short because of large parameters
			return false, nil
		}
		if n >= Most {
			return true, nil
		}
	}
}

// IsRefused reports whether the session of a late schedule was due and could not start.
func (s *Overview) IsRefused(of client.Schedule) bool { return s.refused[of.ID] }

// divide adds active schedules to the late or upcoming ones, earliest first.
func (s *Overview) divide(schedules []client.Schedule, now time.Time) {
	slices.SortStableFunc(schedules, func(a, b client.Schedule) int { return a.NextRunTime.Compare(b.NextRunTime) })
	for _, one := range schedules {
		switch {
		case one.DisabledAt != nil:
		case now.Sub(one.NextRunTime) > late, s.refused[one.ID]:
			s.Late = append(s.Late, one)
		case len(s.Next) < mostComing:
			s.Next = append(s.Next, one)
		}
	}
}

// Paused returns the paused projects of a list, which it modifies.
func Paused(list []client.Project) []client.Project {
	return slices.DeleteFunc(list, func(p client.Project) bool { return p.Paused == nil })
}
