package overview

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/internal/client"
)

// TestStatusParts checks which schedules are late and which come next, and that a long list is read page by page until
// the rest is too old or the limit is reached.
func TestStatusParts(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	schedule := func(id int, in time.Duration) client.Schedule {
		return client.Schedule{ID: client.ID(fmt.Sprint(id)), NextRunTime: now.Add(in)}
	}
	off := schedule(3, -time.Hour)
	off.DisabledAt = &now
	var s Overview
	s.divide([]client.Schedule{schedule(1, time.Hour), schedule(2, -time.Hour), off, schedule(4, -30*time.Second)}, now)
	if len(s.Late) != 1 || s.Late[0].ID != "2" || len(s.Next) != 2 || s.Next[0].ID != "4" {
		t.Errorf("late %v, next %v", s.Late, s.Next)
	}
	for _, c := range []struct {
		all, old, page, reads int
		cut                   bool
	}{{250, 120, 100, 2, false}, {50, 100, 100, 2, false}, {5000, 5000, 100, 10, true}, {70, 100, 30, 4, false}} {
		reads, seen := 0, 0
		cut, err := Pages(func(p client.Page) ([]int, error) {
			reads++
			list := make([]int, min(p.Count, c.page, c.all-seen))
			return list, nil
		}, func(int) (client.ID, bool) { seen++; return "1", seen > c.old })
		if err != nil || cut != c.cut || reads != c.reads {
			t.Errorf("%+v: %d pages, cut %v: %v", c, reads, cut, err)
		}
	}
}

// TestRefusedSchedules proves that a schedule counts as late if its session was due and is tried again later, but not
// if it waits for its time.
func TestRefusedSchedules(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		config := map[string]string{"every": `{"minutes_interval>": 1}`, "daily": `{"daily>": "07:00:00"}`, "gone": ""}[strings.TrimPrefix(r.URL.Path, "/api/workflows/")]
		if config == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"id":"1","name":"w","timezone":"UTC","config":{"schedule":%s}}`, config)
	}))
	defer server.Close()
	api, err := client.New(client.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	now := time.Date(2024, 1, 1, 6, 30, 0, 0, time.UTC)
	of := func(id, workflow string, session, run time.Duration) client.Schedule {
		return client.Schedule{ID: client.ID(id), Project: client.Ref{ID: "1"}, Workflow: client.Ref{ID: client.ID(workflow)}, NextScheduleTime: now.Add(session), NextRunTime: now.Add(run)}
	}
	off, paused := of("off", "every", -time.Hour, time.Minute), of("paused", "every", -time.Hour, time.Minute)
	off.DisabledAt, paused.Project.ID = &now, "2"
	list := []client.Schedule{of("refused", "every", -10*time.Minute, 50*time.Minute), of("daily", "daily", -390*time.Minute, 30*time.Minute), of("next", "every", time.Minute, time.Minute), of("just due", "every", -time.Minute, time.Second),
		of("deleted", "gone", -time.Hour, time.Minute), of("chosen", "every", -time.Hour, 5*time.Hour), off, paused}
	found, err := refused(t.Context(), api, list, []client.Project{{ID: "2"}}, now)
	if got := slices.Collect(maps.Keys(found)); err != nil || len(got) != 1 || got[0] != "refused" || asked != 3 {
		t.Errorf("found %v after %d requests (%v), want refused after 3", got, asked, err)
	}
	s := Overview{refused: found}
	if s.divide(list, now); len(s.Late) != 1 || s.Late[0].ID != "refused" {
		t.Errorf("late: %v", s.Late)
	}
}

// TestOf checks the contents of an overview: running attempts, including other projects' unless it is about one
// project, failures of the last day but no older or killed ones. It also checks that the overview reports whether some
// data was not read.
func TestOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	session := func(id int, ago time.Duration, more string) string {
		return fmt.Sprintf(`{"id":"%d","project":{"id":"1","name":"p"},"workflow":{"name":"w"},"lastAttempt":{"id":"%d","done":true,"success":false,"createdAt":%q%s}}`, id, id, now.Add(-ago).Format(time.RFC3339), more)
	}
	attempt := func(id, project int, done bool, ago time.Duration) string {
		return fmt.Sprintf(`{"id":"%d","project":{"id":"%d"},"workflow":{"name":"w"},"done":%t,"createdAt":%q}`, id, project, done, now.Add(-ago).Format(time.RFC3339))
	}
	answers := map[string]string{
		"/api/sessions":             `{"sessions":[` + strings.Join([]string{session(9, time.Hour, ""), session(8, time.Hour, `,"cancelRequested":true`), session(7, 23*time.Hour, ""), session(6, 30*time.Hour, "")}, ",") + `]}`,
		"/api/attempts":             `{"attempts":[` + strings.Join([]string{attempt(9, 1, false, time.Hour), attempt(8, 2, false, time.Hour), attempt(7, 1, true, time.Hour), attempt(6, 1, false, 8*24*time.Hour)}, ",") + `]}`,
		"/api/schedules":            `{"schedules":[{"id":"1","project":{"id":"1"},"workflow":{"id":"1"},"nextRunTime":"2026-01-01T00:00:00Z","nextScheduleTime":"2026-01-01T00:00:00Z"},{"id":"2","project":{"id":"1"},"workflow":{"id":"2"},"nextRunTime":"2026-01-03T00:00:00Z","nextScheduleTime":"2026-01-03T00:00:00Z"}]}`,
		"/api/projects/1/sessions":  `{"sessions":[]}`,
		"/api/projects/1/schedules": `{"schedules":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := answers[r.URL.Path]
		if last := r.URL.Query().Get("last_id"); !known || last != "" && last != "0" {
			text = `{"sessions":[],"attempts":[],"schedules":[]}`
		}
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	api, err := client.New(client.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	projects := []client.Project{{ID: "1"}, {ID: "2", Paused: &client.Paused{}}}
	o, err := Of(t.Context(), api, slices.Clone(projects), false, now)
	if err != nil || len(o.Running) != 3 || len(o.Failed) != 2 || o.Failed[0].ID != "9" || o.Failed[1].ID != "7" || len(o.Late) != 1 || o.Late[0].ID != "1" || o.IsRefused(o.Late[0]) || len(o.Next) != 1 || len(o.Paused) != 1 || o.Partly {
		t.Errorf("%d run, %d failed, %d late, %d next, %d paused, %v", len(o.Running), len(o.Failed), len(o.Late), len(o.Next), len(o.Paused), err)
	}
	o, err = Of(t.Context(), api, projects[:1], true, now)
	if err != nil || len(o.Running) != 2 || o.Running[0].ID != "9" || len(o.Failed)+len(o.Late)+len(o.Next)+len(o.Paused) != 0 {
		t.Errorf("of one project: %d run, %d failed, %d late, %d next, %d paused, %v", len(o.Running), len(o.Failed), len(o.Late), len(o.Next), len(o.Paused), err)
	}
	if o, err = Of(t.Context(), api, make([]client.Project, Most), false, now); err != nil || !o.Partly {
		t.Errorf("of many projects: %v, %v", o.Partly, err)
	}
	delete(answers, "/api/attempts")
	server.Close()
	if _, err := Of(t.Context(), api, projects, false, now); err == nil {
		t.Error("a server that is gone is no error")
	}
}
