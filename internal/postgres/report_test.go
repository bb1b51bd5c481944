package postgres

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"zerodag/internal/host"
	"zerodag/operators/operatortest/postgres"
)

// testReport checks the rows that the views for reports show, that the views have the promised columns, and that a role
// that may read the views can read nothing else.
func testReport(t *testing.T, l *lab) {
	l.enter(t)
	o, ctx := l.options(), t.Context()
	db := open(t, o)
	s := setScene(t, db)
	var ended []host.Attempt
	for _, end := range []host.End{{At: at(90), Success: true}, {At: at(60)}, {At: at(30), Canceled: true}, {At: at(10), Success: true, Ignored: true}} {
		a := s.start(t, db)
		if err := db.Finish(ctx, a.ID, end); err != nil {
			t.Fatal(err)
		}
		ended = append(ended, a)
	}
	later := s.attempt()
	later.StartsAt, later.RetryName = at(100), "again"
	if _, err := db.Start(ctx, later); err != nil {
		t.Fatal(err)
	}
	if err := db.PutSecret(ctx, 1, 1, "key", "value"); err != nil {
		t.Fatal(err)
	}

	schema, role := pgx.Identifier{o.Schema}.Sanitize(), strings.ReplaceAll(o.Schema, " ", "_")+"_reader"
	l.Rows(t, "CREATE ROLE "+role+" LOGIN; GRANT USAGE ON SCHEMA "+schema+" TO "+role+
		"; GRANT SELECT ON "+schema+".report_projects, "+schema+".report_schedules, "+schema+".report_sessions, "+schema+".report_attempts TO "+role)
	reader, err := pgx.Connect(ctx, strings.Replace(l.url(l.Port), "://"+postgres.User+"@", "://"+role+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(ctx)
	read := func(sql string) (list []string) {
		t.Helper()
		rows, err := reader.Query(ctx, strings.ReplaceAll(sql, "@", schema+"."))
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				if moment, is := v.(time.Time); is {
					values[i] = moment.UTC().Format(time.RFC3339)
				}
			}
			list = append(list, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
		}
		if rows.Err() != nil {
			t.Fatalf("%s: %v", sql, rows.Err())
		}
		return list
	}
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT project, workflow, status, attempt_number, retry_name, session_time, created_at, began_at, finished_at, extract(epoch FROM duration)::int, revision FROM @report_attempts ORDER BY attempt_id", []string{
			"demo main success 1 <nil> 2023-11-14T22:13:21Z 2023-11-14T22:13:20Z 2023-11-14T22:13:20Z 2023-11-14T22:14:50Z 90 r1",
			"demo main error 1 <nil> 2023-11-14T22:13:22Z 2023-11-14T22:13:20Z 2023-11-14T22:13:20Z 2023-11-14T22:14:20Z 60 r1",
			"demo main killed 1 <nil> 2023-11-14T22:13:23Z 2023-11-14T22:13:20Z 2023-11-14T22:13:20Z 2023-11-14T22:13:50Z 30 r1",
			"demo main success 1 <nil> 2023-11-14T22:13:24Z 2023-11-14T22:13:20Z 2023-11-14T22:13:20Z 2023-11-14T22:13:30Z 10 r1",
			"demo main running 1 again 2023-11-14T22:13:25Z 2023-11-14T22:13:20Z 2023-11-14T22:15:00Z <nil> <nil> r1"}},
		{"SELECT attempt_id, finished, kill_requested, paused, errors_ignored, imported, retried FROM @report_attempts ORDER BY attempt_id", []string{
			fmt.Sprint(ended[0].ID, true, false, false, false, false, false), fmt.Sprint(ended[1].ID, true, false, false, false, false, false),
			fmt.Sprint(ended[2].ID, true, true, false, false, false, false), fmt.Sprint(ended[3].ID, true, false, false, true, false, false), fmt.Sprint(ended[3].ID+1, false, false, false, false, false, false)}},
		{"SELECT project, workflow, status, attempts, last_attempt_finished_at FROM @report_sessions ORDER BY session_id LIMIT 2", []string{
			"demo main success 1 2023-11-14T22:14:50Z", "demo main error 1 2023-11-14T22:14:20Z"}},
		{"SELECT project, workflow, timezone, next_run_at, next_session_time, last_session_time, enabled FROM @report_schedules", []string{
			fmt.Sprintf("demo main UTC %[1]s %[1]s <nil> true", at(1<<20).Format(time.RFC3339))}},
		{"SELECT site_id, project, created_at, deleted_at, paused_at, revision, pushed_at FROM @report_projects", []string{
			"1 demo 2023-11-14T22:13:20Z <nil> <nil> r1 2023-11-14T22:13:20Z"}},
	} {
		if diff := cmp.Diff(c.want, read(c.sql)); diff != "" {
			t.Errorf("%s\n%s", c.sql, diff)
		}
	}
	for _, name := range l.Rows(t, "SELECT tablename FROM pg_tables WHERE schemaname = '"+o.Schema+"'") {
		if _, err := reader.Exec(ctx, "SELECT * FROM "+schema+"."+name); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("the role reads %s: %v", name, err)
		}
	}
	columns := l.Rows(t, "SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns WHERE table_schema = '"+o.Schema+"' AND table_name LIKE 'report\\_%' ORDER BY table_name, ordinal_position")
	if diff := cmp.Diff(promised(t), columns); diff != "" {
		t.Errorf("docs/reporting.md promises other columns:\n%s", diff)
	}
	if !slices.ContainsFunc(columns, func(c string) bool { return c == "report_attempts.duration interval" }) {
		t.Error("no columns were compared")
	}
}

// promised returns the columns in the tables of docs/reporting.md, in the order of views.
func promised(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reporting.md")
	if err != nil {
		t.Fatal(err)
	}
	views, view := map[string][]string{}, ""
	for line := range strings.Lines(string(page)) {
		if name, is := strings.CutPrefix(line, "## "); is {
			view = strings.TrimSpace(name)
		}
		cells := strings.Split(line, " | ")
		if column, is := strings.CutPrefix(cells[0], "| `"); is && len(cells) > 1 {
			views[view] = append(views[view], view+"."+strings.TrimSuffix(column, "`")+" "+cells[1])
		}
	}
	var list []string
	for _, view := range slices.Sorted(maps.Keys(views)) {
		list = append(list, views[view]...)
	}
	return list
}
