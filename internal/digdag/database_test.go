package digdag

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/operators/operatortest/postgres"
)

// tables defines the tables and columns of Digdag's database (0.10, 0.11) that an import reads, with their types,
// constraints and some rows.
const tables = `
CREATE TABLE projects (id serial PRIMARY KEY, site_id int NOT NULL, name text, created_at timestamptz NOT NULL, deleted_at timestamptz, deleted_name text);
CREATE TABLE revisions (id serial PRIMARY KEY, project_id int NOT NULL REFERENCES projects (id), name text NOT NULL, archive_type text NOT NULL, created_at timestamptz NOT NULL);
CREATE TABLE workflow_configs (id serial PRIMARY KEY, project_id int NOT NULL REFERENCES projects (id), config_digest bigint NOT NULL, timezone text NOT NULL, config text NOT NULL);
CREATE TABLE workflow_definitions (id bigserial PRIMARY KEY, config_id int NOT NULL REFERENCES workflow_configs (id), revision_id int NOT NULL REFERENCES revisions (id), name text NOT NULL);
CREATE TABLE schedules (id serial PRIMARY KEY, project_id int NOT NULL REFERENCES projects (id), workflow_definition_id bigint NOT NULL REFERENCES workflow_definitions (id),
  next_run_time bigint NOT NULL, next_schedule_time bigint NOT NULL, last_session_time bigint, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, disabled_at timestamptz);
CREATE TABLE sessions (id bigserial PRIMARY KEY, project_id int NOT NULL REFERENCES projects (id), workflow_name text NOT NULL, session_time bigint NOT NULL, session_uuid uuid NOT NULL,
  last_attempt_id bigint, last_attempt_created_at timestamptz, UNIQUE (project_id, workflow_name, session_time));
CREATE TABLE session_attempts (id bigserial PRIMARY KEY, session_id bigint NOT NULL REFERENCES sessions (id), site_id int NOT NULL, project_id int NOT NULL REFERENCES projects (id),
  attempt_name text NOT NULL, workflow_definition_id bigint REFERENCES workflow_definitions (id), state_flags smallint NOT NULL, timezone text NOT NULL, params text,
  created_at timestamptz NOT NULL, finished_at timestamptz, index int NOT NULL, UNIQUE (session_id, attempt_name));
INSERT INTO projects VALUES (1, 0, 'shop', now(), NULL, NULL), (2, 0, NULL, now(), now(), 'old'), (3, 7, 'shop', now(), NULL, NULL), (4, 0, 'crm', now(), NULL, NULL);
INSERT INTO revisions VALUES (1, 1, 'r1', 'db', now()), (2, 1, 'r2', 'db', now()), (3, 4, 'r1', 'db', now());
INSERT INTO workflow_configs VALUES (1, 1, 1, 'Asia/Tokyo', '{}');
INSERT INTO workflow_definitions VALUES (1, 1, 1, 'nightly'), (2, 1, 2, 'nightly'), (3, 1, 2, 'weekly'), (4, 1, 3, 'sync');
INSERT INTO schedules VALUES (1, 1, 2, 1767369600, 1767366000, 1767279600, now(), now(), NULL), (2, 1, 3, 1767571200, 1767567600, NULL, now(), now(), '2025-12-24T00:00:00Z'),
  (3, 4, 4, 1767571200, 1767567600, NULL, now(), now(), NULL);
INSERT INTO sessions VALUES (1, 1, 'nightly', 1767193200, '62e102e3-9fb0-49ff-8a00-2310ac809101', 2, now()), (2, 1, 'nightly', 1767279600, '62e102e3-9fb0-49ff-8a00-2310ac809102', 4, now()),
  (3, 2, 'x', 1767279600, '62e102e3-9fb0-49ff-8a00-2310ac809103', 5, now()), (4, 3, 'nightly', 1767279600, '62e102e3-9fb0-49ff-8a00-2310ac809104', 6, now()), (5, 4, 'sync', 1767279600, '62e102e3-9fb0-49ff-8a00-2310ac809105', 7, now());
INSERT INTO session_attempts VALUES
  (1, 1, 0, 1, '', 1, 2, 'Asia/Tokyo', '{"day": 1}', '2026-01-01T01:00:00Z', '2026-01-01T01:30:00Z', 1),
  (2, 1, 0, 1, 'again', 2, 6, 'Asia/Tokyo', NULL, '2026-01-01T02:00:00Z', '2026-01-01T02:30:00Z', 2),
  (3, 2, 0, 1, '', 2, 3, 'Asia/Tokyo', '{}', '2026-01-02T01:00:00Z', '2026-01-02T01:30:00Z', 1),
  (4, 2, 0, 1, 'now', 2, 0, 'Asia/Tokyo', '{}', '2026-01-02T02:00:00Z', NULL, 2),
  (5, 3, 0, 2, '', NULL, 6, 'UTC', '{}', '2026-01-02T02:00:00Z', '2026-01-02T02:30:00Z', 1),
  (6, 4, 7, 3, '', NULL, 6, 'UTC', '{}', '2026-01-02T02:00:00Z', '2026-01-02T02:30:00Z', 1),
  (7, 5, 0, 4, '', NULL, 3, 'UTC', '{}', '2026-01-02T02:00:00Z', NULL, 1);`

// opened returns a database with Digdag's tables.
func opened(t *testing.T) Database {
	t.Helper()
	d := Database{URL: fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", postgres.User, postgres.Start(t).Port, postgres.Database)}
	conn, err := pgx.Connect(t.Context(), d.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	if _, err := conn.Exec(t.Context(), tables, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return d
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

// TestDatabase proves which attempts and schedules are read from Digdag's tables, and how their columns are understood.
func TestDatabase(t *testing.T) {
	t.Parallel()
	d := opened(t)
	read := func(f Filter, d Database) (n Survey, list []client.PastAttempt) {
		t.Helper()
		if err := d.Attempts(t.Context(), f, func(s Survey) { n = s }, func(part []client.PastAttempt) error {
			list = append(list, part...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n, list
	}
	first := client.PastAttempt{ID: "1", Project: "shop", Revision: "r1", Workflow: "nightly", SessionUUID: "62e102e3-9fb0-49ff-8a00-2310ac809101", SessionTime: at("2025-12-31T15:00:00Z"),
		Timezone: "Asia/Tokyo", Params: param.New("day", int64(1)), CreatedAt: at("2026-01-01T01:00:00Z"), FinishedAt: at("2026-01-01T01:30:00Z")}
	second := first
	second.ID, second.Revision, second.RetryAttemptName, second.Params, second.Success = "2", "r2", "again", nil, true
	second.CreatedAt, second.FinishedAt = at("2026-01-01T02:00:00Z"), at("2026-01-01T02:30:00Z")
	killed := client.PastAttempt{ID: "7", Project: "crm", Workflow: "sync", SessionUUID: "62e102e3-9fb0-49ff-8a00-2310ac809105", SessionTime: at("2026-01-01T15:00:00Z"), Timezone: "UTC",
		Params: param.New(), CreatedAt: at("2026-01-02T02:00:00Z"), FinishedAt: at("2026-01-02T02:00:00Z"), CancelRequested: true}
	trees := cmp.Comparer(func(a, b *param.Map) bool { return (a == nil) == (b == nil) && param.Text(a) == param.Text(b) })
	for what, c := range map[string]struct {
		filter Filter
		of     Database
		survey Survey
		want   []client.PastAttempt
	}{
		"all":             {Filter{}, d, Survey{Attempts: 3, Unfinished: 2, Deleted: 1}, []client.PastAttempt{first, second, killed}},
		"a project":       {Filter{Projects: []string{"shop"}}, d, Survey{Attempts: 2, Unfinished: 2}, []client.PastAttempt{first, second}},
		"since a time":    {Filter{Since: at("2026-01-02T00:00:00Z")}, d, Survey{Attempts: 1, Unfinished: 2, Deleted: 1}, []client.PastAttempt{killed}},
		"deleted project": {Filter{Projects: []string{"old"}}, d, Survey{Deleted: 1}, nil},
		"unknown site":    {Filter{}, Database{URL: d.URL, Site: 1}, Survey{}, nil},
	} {
		n, list := read(c.filter, c.of)
		if diff := cmp.Diff(c.want, list, trees); diff != "" || n != c.survey {
			t.Errorf("%s: got survey %+v, want %+v; attempts (-want +got):\n%s", what, n, c.survey, diff)
		}
	}
	schedules, err := d.Schedules(t.Context(), Filter{Projects: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	last, off := at("2026-01-01T15:00:00Z"), at("2025-12-24T00:00:00Z")
	want := []client.PastSchedule{{Project: "shop", Workflow: "nightly", NextRunTime: at("2026-01-02T16:00:00Z"), NextScheduleTime: at("2026-01-02T15:00:00Z"), LastSessionTime: &last},
		{Project: "shop", Workflow: "weekly", NextRunTime: at("2026-01-05T00:00:00Z"), NextScheduleTime: at("2026-01-04T23:00:00Z"), DisabledAt: &off}}
	if diff := cmp.Diff(want, schedules); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
}

// TestDatabaseIsOnlyRead proves that no statement of an import can change Digdag's database.
func TestDatabaseIsOnlyRead(t *testing.T) {
	t.Parallel()
	tx, end, err := opened(t).begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := tx.Exec(t.Context(), "DELETE FROM session_attempts"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
		t.Errorf("a change: got error %v", err)
	}
}

// TestOtherDatabase proves that the error for a database without Digdag's tables explains which database to name.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	d := Database{URL: fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", postgres.User, postgres.Start(t).Port, postgres.Database)}
	_, err := d.Schedules(t.Context(), Filter{})
	if err == nil || !strings.Contains(err.Error(), "name the database of a Digdag server") {
		t.Errorf("got error %v", err)
	}
}
