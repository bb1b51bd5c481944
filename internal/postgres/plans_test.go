package postgres

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"zerodag/internal/host"
)

var rewrite = flag.Bool("rewrite", false, "write the plans anew")

// receipts matches receipts, which are random.
var receipts = regexp.MustCompile(`receipt = '\d+'`)

// moments matches times in microseconds that the driver has computed.
var moments = regexp.MustCompile(`'\d{16}'`)

// tape records the statements that a database receives.
type tape struct {
	mu   sync.Mutex
	sql  []string
	args [][]any
}

// TraceQueryStart implements pgx.QueryTracer.
func (p *tape) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sql, p.args = append(p.sql, d.SQL), append(p.args, d.Args)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (p *tape) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (p *tape) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (p *tape) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sql, p.args = append(p.sql, d.SQL), append(p.args, d.Args)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (p *tape) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// many fills a database with 100,000 attempts of 50,000 sessions, each retried once, in 400 projects of four sites; the
// last thousand are not finished. 20,000 messages are in the queues, most of them behind others or due later; of the
// 5,000 for tasks of one type, only one has a different type.
func many(t testing.TB, db *DB) {
	t.Helper()
	s := setScene(t, db)
	s.start(t, db)
	if err := db.alone(t.Context(), func(c *conn) error {
		for _, sql := range []string{
			"DELETE FROM @queued_messages", "DELETE FROM @attempt_entries", "DELETE FROM @session_attempts", "DELETE FROM @sessions",
			"INSERT INTO @projects (site_id, name, created_at, latest_revision_id) SELECT 1 + i % 4, convert_to(i::text, 'UTF8'), 0, 1 FROM generate_series(2::bigint, 400) AS i",
			"INSERT INTO @sessions (id, site_id, project_id, workflow_name, session_time, session_uuid, last_attempt_id, attempts) OVERRIDING SYSTEM VALUE" +
				" SELECT i, 1 + (1 + i % 400) % 4, 1 + i % 400, CASE i % 3 WHEN 0 THEN 'main'::bytea ELSE 'other' END, i * 1000000, convert_to(i::text, 'UTF8'), 2 * i, 2 FROM generate_series(1::bigint, 50000) AS i",
			"INSERT INTO @session_attempts (id, session_id, site_id, project_id, workflow_name, workflow_definition_id, attempt_name, attempt_index, state_flags," +
				" timezone, params, created_at, finished_at, retried, has_log) OVERRIDING SYSTEM VALUE" +
				" SELECT 2 * n.id - 1 + x, n.id, n.site_id, n.project_id, n.workflow_name, 1, CASE x WHEN 1 THEN 'x'::bytea ELSE '' END, 1 + x, 6, 'UTC', '{\"a\":1}', n.id," +
				" CASE WHEN n.id < 49500 THEN n.id END, x = 0, n.id > 45000 FROM @sessions n, generate_series(0::bigint, 1) AS x ORDER BY 1",
			"INSERT INTO @attempt_entries (attempt_id, seq, nonce, changes) SELECT i, s, 'n', 'c' FROM generate_series(90001::bigint, 100000) AS i, generate_series(1::bigint, 5) AS s",
			"INSERT INTO @attempt_snapshots (attempt_id, seq, state) SELECT i, 4, 's' FROM generate_series(90001::bigint, 100000, 2) AS i",
			"INSERT INTO @schedules (site_id, project_id, workflow_name, workflow_definition_id, next_run_time, next_schedule_time, created_at, updated_at)" +
				" SELECT 1, 1, convert_to(i::text, 'UTF8'), 1, i * 1000000, i, 0, 0 FROM generate_series(1::bigint, 20000) AS i",
			"INSERT INTO @queued_messages (queue, unique_name, message_group, share, task_type, body, sent_at, free_at)" +
				" SELECT 1 + i % 2, convert_to(i::text, 'UTF8'), CASE WHEN i % 2 = 0 THEN convert_to((i % 100)::text, 'UTF8') ELSE '' END, ''," +
				" CASE WHEN i = 5001 THEN 'sh'::bytea WHEN i % 2 = 1 THEN 'td' ELSE '' END, '', 0, CASE WHEN i <= 100 OR i % 2 = 1 AND i <= 10000 THEN 1 WHEN i % 2 = 1 THEN 9000000000000000 + i END FROM generate_series(1::bigint, 20000) AS i",
			"SET default_statistics_target = 400", // statistics on all rows, not on a sample, so that the plans are always the same
			"ANALYZE",
		} {
			if _, err := c.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// questions returns the queries whose cost must depend on the result, not on the size of the tables.
func questions(db *DB) []struct {
	name string
	ask  func(context.Context) error
} {
	attempts := func(q host.AttemptQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := db.Attempts(ctx, q)
			return err
		}
	}
	sessions := func(q host.SessionQuery) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := db.Sessions(ctx, q)
			return err
		}
	}
	return []struct {
		name string
		ask  func(context.Context) error
	}{
		{"attempts", attempts(host.AttemptQuery{Site: 1, Count: 100})},
		{"attempts, old", attempts(host.AttemptQuery{Site: 1, Count: 100, Before: 300})},
		{"attempts, retried", attempts(host.AttemptQuery{Site: 1, Count: 100, Retried: true})},
		{"attempts of project", attempts(host.AttemptQuery{Site: 2, Project: 1, Count: 100})},
		{"attempts of workflow", attempts(host.AttemptQuery{Site: 2, Project: 1, Workflow: "main", Count: 100})},
		{"attempts of session", attempts(host.AttemptQuery{Site: 1, Session: 7, Count: 100, Retried: true})},
		{"sessions", sessions(host.SessionQuery{Site: 1, Count: 100})},
		{"sessions of project", sessions(host.SessionQuery{Site: 2, Project: 1, Count: 100})},
		{"sessions of workflow", sessions(host.SessionQuery{Site: 2, Project: 1, Workflow: "main", Count: 100})},
		{"active", func(ctx context.Context) error {
			_, err := db.Active(ctx, host.ActiveQuery{Site: host.AnySite, Count: 100})
			return err
		}},
		{"active of site", func(ctx context.Context) error {
			_, err := db.Active(ctx, host.ActiveQuery{Site: 1, Count: 100})
			return err
		}},
		{"number of active", func(ctx context.Context) error {
			_, err := db.CountActive(ctx, 1, 101)
			return err
		}},
		{"last session", func(ctx context.Context) error {
			_, err := db.LastSession(ctx, 1, "main", time.Unix(40000, 0))
			return err
		}},
		{"waiting", func(ctx context.Context) error {
			_, err := db.Waiting(ctx, 1)
			return err
		}},
		{"old", func(ctx context.Context) error {
			_, err := db.Old(ctx, time.Unix(1, 0), 50000, 100)
			return err
		}},
		{"expire", func(ctx context.Context) error {
			_, err := db.Expire(ctx, time.Unix(0, 45003000), 1)
			return err
		}},
		{"load", func(ctx context.Context) error {
			_, err := db.Load(ctx, 95000)
			return err
		}},
		{"due", func(ctx context.Context) error {
			_, err := db.Due(ctx, time.Unix(5000, 0), time.Unix(15000, 0), 100)
			return err
		}},
		{"next due", func(ctx context.Context) error {
			_, err := db.NextDue(ctx)
			return err
		}},
		{"append", func(ctx context.Context) error {
			return db.Append(ctx, 95000, host.Entry{Seq: 6, Nonce: "n", Changes: []byte("c")})
		}},
		{"send", func(ctx context.Context) error {
			return db.Queue("events").Send(ctx, host.Message{ID: "new", Group: "2"})
		}},
		{"receive and delete", func(ctx context.Context) error {
			list, err := db.Queue("events").Receive(ctx, 1, time.Hour)
			if err != nil {
				return err
			}
			return db.Queue("events").Delete(ctx, list[0])
		}},
		{"receive some types", func(ctx context.Context) error {
			q := newQueue(db, "tasks", time.Hour)
			q.only([]string{"py", "sh"})
			list, err := q.Receive(ctx, 1, time.Hour)
			if err == nil && (len(list) != 1 || list[0].ID != "5001") {
				err = fmt.Errorf("received %v", list)
			}
			return err
		}},
	}
}

// testPlans proves that no query reads a whole table of 100,000 attempts: its cost depends on the size of the result.
// The plans must equal those in testdata; -rewrite rewrites them.
func testPlans(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	heard := &tape{}
	o.tracer = heard
	many(t, open(t, o))
	db := open(t, o) // filling takes a long time on a busy machine, which a waiting caller would mistake for an outage
	var text strings.Builder
	for _, q := range questions(db) {
		heard.mu.Lock()
		from := len(heard.sql)
		heard.mu.Unlock()
		if err := q.ask(t.Context()); err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		text.WriteString("# " + q.name + "\n")
		heard.mu.Lock()
		sql, args := heard.sql[from:], heard.args[from:]
		heard.mu.Unlock()
		for i := range sql {
			text.WriteString(explain(t, db, sql[i], args[i]))
		}
	}
	got := text.String()
	for _, table := range []string{"session_attempts", "sessions", "attempt_entries", "attempt_snapshots", "schedules", "queued_messages"} { // but not the few projects
		if strings.Contains(got, "Seq Scan on "+table) {
			t.Errorf("table %s is read whole:\n%s", table, got)
		}
	}
	var version string
	if err := db.pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000 || ''").Scan(&version); err != nil {
		t.Fatal(err)
	}
	file := "testdata/plans-" + version + ".txt" // each version words its plans differently
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("NOT TESTED: the plans of PostgreSQL %s: %v", version, err)
	}
	if diff := cmp.Diff(string(wanted), got); diff != "" {
		t.Errorf("plans (-want +got):\n%s", diff)
	}
}

// explain returns the plan of a statement without the parts that depend on the time and the machine.
func explain(t *testing.T, db *DB, sql string, args []any) string {
	t.Helper()
	if head, _, _ := strings.Cut(sql, " "); head != "SELECT" && head != "WITH" && head != "INSERT" && head != "UPDATE" && head != "DELETE" {
		return ""
	}
	c, err := db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if _, err := c.Exec(t.Context(), "SET enable_memoize = off; SET enable_material = off"); err != nil { // they hardly matter, and appear only in some plans
		t.Fatal(err)
	}
	rows, err := c.Query(t.Context(), "EXPLAIN (COSTS OFF) "+sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return moments.ReplaceAllString(receipts.ReplaceAllString(strings.Join(lines, "\n"), "receipt = 'any'"), "'any'") + "\n"
}
