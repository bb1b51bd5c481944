package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// many fills a database with 100,000 attempts of 50,000 sessions, half of them retried once, in one of two projects;
// the last thousand are not finished.
func many(t testing.TB) *DB {
	db := open(t, Options{Path: fileOf(t), Sync: host.SyncNone})
	pushed(t, db)
	if err := db.write(t.Context(), func(c *conn) error {
		for _, sql := range []string{
			"INSERT INTO projects (site_id, name, created_at, latest_revision_id) VALUES (1, 'other', 0, 1)",
			"WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50000)" +
				" INSERT INTO sessions (site_id, project_id, workflow_name, session_time, session_uuid, last_attempt_id, attempts)" +
				" SELECT 1, 1 + (i > 49000), 'main', i * 1000000, printf('%036d', i), 2 * i, 2 FROM n",
			"WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)" +
				" INSERT INTO session_attempts (session_id, site_id, project_id, workflow_name, workflow_definition_id, attempt_name, attempt_index, state_flags," +
				" timezone, params, created_at, finished_at, retried, has_log)" +
				" SELECT (i + 1) / 2, 1, 1 + (i > 98000), 'main', 1, CASE i % 2 WHEN 0 THEN 'x' ELSE '' END, 1, 6, 'UTC', '{\"a\":1}', i," +
				" CASE WHEN i < 99000 THEN i END, i % 2, 1 FROM n",
		} {
			if _, err := c.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return db
}

// lists holds the queries whose cost must depend on their result, not on the table's size.
func lists(db *DB) map[string]func(context.Context) (int, error) {
	attempts := func(q host.AttemptQuery) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			list, err := db.Attempts(ctx, q)
			return len(list), err
		}
	}
	sessions := func(q host.SessionQuery) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			list, err := db.Sessions(ctx, q)
			return len(list), err
		}
	}
	return map[string]func(context.Context) (int, error){
		"attempts":                     attempts(host.AttemptQuery{Site: 1, Count: 100}),
		"attempts, old":                attempts(host.AttemptQuery{Site: 1, Count: 100, Before: 300}),
		"attempts, retried":            attempts(host.AttemptQuery{Site: 1, Count: 100, Retried: true}),
		"attempts of project":          attempts(host.AttemptQuery{Site: 1, Project: 1, Count: 100}),
		"attempts of project, retried": attempts(host.AttemptQuery{Site: 1, Project: 1, Count: 100, Retried: true}),
		"attempts of workflow":         attempts(host.AttemptQuery{Site: 1, Project: 1, Workflow: "main", Count: 100}),
		"attempts of session":          attempts(host.AttemptQuery{Site: 1, Session: 7, Count: 100, Retried: true}),
		"sessions":                     sessions(host.SessionQuery{Site: 1, Count: 100}),
		"sessions of project":          sessions(host.SessionQuery{Site: 1, Project: 1, Count: 100}),
		"sessions of workflow":         sessions(host.SessionQuery{Site: 1, Project: 1, Workflow: "main", Count: 100}),
		"active": func(ctx context.Context) (int, error) {
			list, err := db.Active(ctx, host.ActiveQuery{Site: host.AnySite, Count: 100})
			return len(list), err
		},
		"active of site": func(ctx context.Context) (int, error) {
			list, err := db.Active(ctx, host.ActiveQuery{Site: 1, Count: 100})
			return len(list), err
		},
		"number of active": func(ctx context.Context) (int, error) { return db.CountActive(ctx, 1, 101) },
		"last session": func(ctx context.Context) (int, error) {
			at, err := db.LastSession(ctx, 1, "main", time.Unix(40000, 0))
			return int(at.Unix()), err
		},
	}
}

// TestPlans proves that no query reads or sorts a whole table: its cost depends on the result. Only the few attempts of
// one session are sorted.
func TestPlans(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, Options{}), t.Context()
	started(t, db, 2)
	for name, ask := range lists(db) {
		if _, err := ask(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, due := db.Due(ctx, time.Time{}, time.Now(), 10)
	_, next := db.NextDue(ctx)
	_, expired := db.Expire(ctx, time.Now(), 10)
	_, waiting := db.Waiting(ctx, 1)
	_, loaded := db.Load(ctx, 1)
	_, history := db.History(ctx, 1, 1, 10)
	_, definitions := db.Workflows(ctx, host.WorkflowQuery{Site: 1, Count: 10})
	if err := errors.Join(due, next, expired, waiting, loaded, history, definitions); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for sql := range db.writer.conn.stmts {
		if strings.HasPrefix(sql, "SELECT") && strings.Contains(sql, "FROM ") && !strings.Contains(sql, "queued_messages WHERE queue") &&
			!strings.Contains(sql, "schema") && !strings.Contains(sql, "AND +a.retried") {
			asked = append(asked, sql)
		}
	}
	if len(asked) < 20 {
		t.Errorf("only %d questions are known", len(asked))
	}
	for _, sql := range asked {
		plan, err := sqlstore.Collect(db.writer.conn, detail, "EXPLAIN QUERY PLAN "+sql, slices.Repeat([]any{0}, 20)...)
		if err != nil {
			t.Error(err)
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "CONSTANT") && !strings.Contains(step, "(subquery") && step != "SCAN few" || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s\nis planned as\n%s", sql, strings.Join(plan, "\n"))
				break
			}
		}
	}
}

// detail reads the last of the four columns of a plan's step.
func detail(r *row) string {
	for range 3 {
		r.ID()
	}
	return r.Text()
}

func BenchmarkLists(b *testing.B) {
	db := many(b)
	for name, ask := range lists(db) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := ask(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manySent creates a file with n messages in groups of 100.
func manySent(t testing.TB, n int) string {
	path := fileOf(t)
	db := open(t, Options{Path: path})
	var list []host.Message
	for i := range n {
		list = append(list, host.Message{ID: fmt.Sprint(i), Group: fmt.Sprint(i % (n / 100)), Body: make([]byte, 100)})
	}
	if err := db.Queue("events").Send(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoadQueue proves that a queue is unchanged after opening: in order, and with only the first message of each group
// visible.
func TestLoadQueue(t *testing.T) {
	t.Parallel()
	db := open(t, Options{Path: manySent(t, 5000)})
	got, err := db.Queue("events").Receive(t.Context(), 2000, time.Minute)
	if err != nil || len(got) != 50 || got[0].ID != "0" || got[49].ID != "49" {
		t.Errorf("received %d messages (%v), want the first of each of 50 groups", len(got), err)
	}
}

func BenchmarkOpen100000Messages(b *testing.B) {
	path := manySent(b, 100_000)
	for b.Loop() {
		db, err := Open(b.Context(), Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
