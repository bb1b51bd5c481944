package node_test

import (
	"context"
	"fmt"
	"time"

	"zerodag/internal/host"
)

// simSessions holds the other stores that a host requires; they never fail.
type simSessions struct {
	sessions
	st *simStore
}

func (x simSessions) Active(_ context.Context, q host.ActiveQuery) (list []host.Attempt, err error) {
	for _, a := range x.st.rows {
		if !a.Done && a.ID > q.After && len(list) < q.Count {
			list = append(list, *a)
		}
	}
	return list, nil
}

func (simSessions) CountActive(context.Context, int64, int) (int, error) { return 0, nil }

func (x simSessions) Waiting(_ context.Context, session int64) (list []host.Attempt, err error) {
	for _, a := range x.st.rows {
		if a.AfterSession == session && !a.Done {
			list = append(list, *a)
		}
	}
	return list, nil
}

func (x simSessions) Attempts(_ context.Context, q host.AttemptQuery) (list []host.Attempt, err error) {
	for _, a := range x.st.rows {
		if a.SessionID == q.Session {
			list = append(list, *a)
		}
	}
	return list, nil
}

func (x simSessions) LastSession(_ context.Context, _ int64, workflow string, t time.Time) (last time.Time, err error) {
	for _, a := range x.st.rows {
		if a.Workflow.Name == workflow && a.SessionTime.Before(t) && a.SessionTime.After(last) {
			last = a.SessionTime
		}
	}
	return last, nil
}

// These give ports names that differ from their methods' names.
type (
	sessions interface{ host.Sessions }
	projects interface{ host.Projects }
)

type simWorkflows struct {
	workflows
	st *simStore
}

func (x simWorkflows) Workflow(_ context.Context, _, id int64) (host.Workflow, error) {
	return x.st.defs[id], nil
}

type simProjects struct{ projects }

func (simProjects) Project(context.Context, int64, int64) (host.Project, error) {
	return host.Project{ID: 1}, nil
}

type simSchedules struct {
	schedules
	st *simStore
}

func (x simSchedules) Schedule(_ context.Context, _, id int64) (host.Schedule, error) {
	for _, s := range x.st.schedules {
		if s.ID == id {
			return s, nil
		}
	}
	return host.Schedule{}, host.ErrNotFound
}

func (x simSchedules) Update(ctx context.Context, s host.Schedule, old host.Times, at time.Time) error {
	return x.st.callFree(ctx, fmt.Sprintf("update schedule %d", s.ID), func() error {
		for i := range x.st.schedules {
			if p := &x.st.schedules[i]; p.ID == s.ID {
				if p.Times != old {
					return host.ErrConflict
				}
				*p = s
			}
		}
		return nil
	})
}
