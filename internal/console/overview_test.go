package console_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/catalogue"
	"zerodag/internal/console"
	"zerodag/internal/host"
)

// stores implements the stores of a catalogue as far as an overview reads them.
type stores struct {
	sessions
	active, ended []host.Attempt
	schedules     []host.Schedule
	config        string // of each workflow
	asked         int    // number of attempts and schedules that were read
}

func (s *stores) Active(_ context.Context, q host.ActiveQuery) ([]host.Attempt, error) {
	return s.active[:min(len(s.active), q.Count)], nil
}

func (s *stores) CountActive(_ context.Context, _ int64, limit int) (int, error) {
	return min(len(s.active), limit), nil
}

func (s *stores) Attempts(_ context.Context, q host.AttemptQuery) (list []host.Attempt, err error) {
	for _, a := range s.ended {
		if len(list) < q.Count && (q.Workflow == "" || q.Workflow == a.Workflow.Name) {
			list = append(list, a)
		}
	}
	s.asked += len(list)
	return list, nil
}

type schedules = host.Schedules // a name that differs from all of its methods

type planned struct {
	schedules
	stores *stores
}

func (s planned) Schedules(_ context.Context, q host.ScheduleQuery) (list []host.Schedule, err error) {
	for _, x := range s.stores.schedules {
		if x.ID > q.After && len(list) < q.Count {
			list = append(list, x)
		}
	}
	s.stores.asked += len(list)
	return list, nil
}

type workflows = host.Workflows

type definitions struct {
	workflows
	config string
}

func (d definitions) Workflow(context.Context, int64, int64) (host.Workflow, error) {
	config, err := param.ParseJSON(d.config)
	return host.Workflow{Name: "w", Zone: "UTC", Config: config.(*param.Map)}, err
}

// live holds no attempt in memory.
type live struct{ catalogue.Live }

func (live) View(_ context.Context, _ int64, f func(*engine.State, int64)) error {
	f(nil, 0)
	return nil
}

func (s *stores) overview(t *testing.T, now time.Time) *console.Console {
	t.Helper()
	c := catalogue.New(catalogue.Options{Ports: host.Ports{Sessions: s, Schedules: planned{stores: s}, Workflows: definitions{config: s.config}, Now: func() time.Time { return now }}, Live: live{}})
	return &console.Console{Catalogue: c, Now: func() time.Time { return now }}
}

// TestLate proves that an overview reports exactly three kinds of late objects: a schedule whose time has passed, an
// attempt that takes longer than others took, and an attempt that is close to its `sla:`.
func TestLate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	ended := func(n int, took time.Duration) (list []host.Attempt) {
		for i := range n {
			list = append(list, host.Attempt{ID: int64(i + 1), Done: true, Success: true, Workflow: host.Ref{ID: 1, Name: "w"}, CreatedAt: ago(50 * time.Hour), FinishedAt: ago(50*time.Hour - took)})
		}
		return list
	}
	running := func(since time.Duration) []host.Attempt {
		return []host.Attempt{{ID: 100, Workflow: host.Ref{ID: 1, Name: "w"}, CreatedAt: ago(since)}}
	}
	at := func(run time.Time, disabled bool) []host.Schedule {
		s := host.Schedule{ID: 1, Times: host.Times{Run: run}}
		if disabled {
			s.DisabledAt = now
		}
		return []host.Schedule{s}
	}
	for name, c := range map[string]struct {
		stores
		want string
	}{
		"as usual":              {stores{active: running(14 * time.Minute), ended: ended(20, 10*time.Minute)}, ""},
		"longer than usual":     {stores{active: running(16 * time.Minute), ended: ended(20, 10*time.Minute)}, "slow 15m0s 10m0s "},
		"too few to tell":       {stores{active: running(time.Hour), ended: ended(4, 10*time.Minute)}, ""},
		"one of ten is slow":    {stores{active: running(16 * time.Minute), ended: append(ended(2, 5*time.Hour), ended(18, 10*time.Minute)...)}, "slow 15m0s 10m0s "},
		"far from its sla":      {stores{active: running(time.Minute), config: `{"sla":{"duration":"00:30:00"}}`}, ""},
		"close to its sla":      {stores{active: running(20 * time.Minute), config: `{"sla":{"duration":"00:30:00"}}`}, "sla 30m0s 0s "},
		"beyond its sla":        {stores{active: running(40 * time.Minute), config: `{"sla":{"duration":"00:30:00"}}`}, "sla 30m0s 0s "},
		"due for long":          {stores{schedules: at(ago(6*time.Minute), false)}, "due -6m0s 0s "},
		"due just now":          {stores{schedules: at(ago(4*time.Minute), false)}, ""},
		"due, but disabled":     {stores{schedules: at(ago(time.Hour), true)}, ""},
		"a schedule that ended": {stores{schedules: at(schedule.Ended(), false)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.config == "" {
				c.config = "{}"
			}
			o, err := c.overview(t, now).Overview(t.Context(), 0, now.Add(-24*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, l := range o.Late {
				from := l.Attempt.CreatedAt
				if l.Kind == console.Due {
					from = now
				}
				got += fmt.Sprint(l.Kind, " ", l.Since.Sub(from), " ", l.Usual, " ")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestOverviewIsBounded proves that thousands of attempts, failures and schedules are counted and only partly listed,
// the next schedules first, and that the number of rows that are read is limited.
func TestOverviewIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := &stores{config: "{}"}
	for i := range 6000 {
		s.active = append(s.active, host.Attempt{ID: int64(10_000 + i), Workflow: host.Ref{Name: fmt.Sprint(i)}, CreatedAt: now})
		s.ended = append(s.ended, host.Attempt{ID: int64(i), Done: true, AfterSession: 1, Workflow: host.Ref{Name: "bad"}, CreatedAt: now, FinishedAt: now})
		s.schedules = append(s.schedules, host.Schedule{ID: int64(i + 1), Times: host.Times{Run: now.Add(time.Duration(6000-i) * time.Second)}})
	}
	o, err := s.overview(t, now).Overview(t.Context(), 0, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Running) != 50 || o.Active != 1000 || len(o.Failed) != 50 || o.FailedAll || o.Schedules != 5000 || len(o.Next) != 50 || s.asked > 5500+10*40 {
		t.Errorf("running %d of %d, failed %d (all: %v), next %d of %d, read %d", len(o.Running), o.Active, len(o.Failed), o.FailedAll, len(o.Next), o.Schedules, s.asked)
	}
	if !slices.IsSortedFunc(o.Next, func(a, b host.Schedule) int { return a.Times.Run.Compare(b.Times.Run) }) || o.Next[0].ID != 5000 {
		t.Errorf("next: %v", o.Next[0])
	}
}

var errAway = errors.New("away")

type sessions = host.Sessions

type away struct{ sessions }

func (away) Active(context.Context, host.ActiveQuery) ([]host.Attempt, error) { return nil, errAway }
func (away) Sessions(context.Context, host.SessionQuery) ([]host.Session, error) {
	return nil, errAway
}

// TestStoresAway proves that an overview is never incomplete because a store was unavailable.
func TestStoresAway(t *testing.T) {
	t.Parallel()
	s := &stores{config: "{}"}
	c := &console.Console{Now: time.Now, Catalogue: catalogue.New(catalogue.Options{Ports: host.Ports{Sessions: away{}, Schedules: planned{stores: s}, Workflows: definitions{config: s.config}, Now: time.Now}, Live: live{}})}
	_, err := c.Overview(t.Context(), 0, time.Time{})
	_, err2 := c.Sessions(t.Context(), console.SessionFilter{Count: 1})
	_, err3 := c.Grid(t.Context(), console.GridQuery{Columns: 1, Rows: 1})
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, errAway) {
			t.Errorf("got %v", err)
		}
	}
}

type many struct {
	sessions
	read int
}

func (m *many) Sessions(_ context.Context, q host.SessionQuery) (list []host.Session, err error) {
	top := int64(10_000)
	if q.Before > 0 {
		top = q.Before - 1
	}
	for id := top; id > 0 && len(list) < q.Count; id-- {
		list = append(list, host.Session{ID: id, Project: host.Ref{Name: "p"}, Last: host.Attempt{Done: true, Success: id != 1}})
	}
	m.read += len(list)
	return list, nil
}

// TestSessionsAreFoundInPages proves that the only matching session is found behind 9,999 others, in pages that read
// 2,000 sessions each.
func TestSessionsAreFoundInPages(t *testing.T) {
	t.Parallel()
	m := &many{}
	c := &console.Console{Now: time.Now, Catalogue: catalogue.New(catalogue.Options{Ports: host.Ports{Sessions: m, Now: time.Now}})}
	f := console.SessionFilter{States: map[string]bool{"error": true}, Count: 10}
	var found []host.Session
	pages := 0
	for {
		p, err := c.Sessions(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		found, pages = append(found, p.Sessions...), pages+1
		if f.Before = p.Next; p.Next == 0 || pages > 10 {
			break
		}
	}
	if len(found) != 1 || found[0].ID != 1 || pages > 6 || m.read != 10_000 {
		t.Errorf("%d found in %d pages, %d read", len(found), pages, m.read)
	}
}
