package digdag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/engine/param"
	"zerodag/internal/client"
)

// Database reads the history from a Digdag server's PostgreSQL database, which does not have to be running.
type Database struct {
	// URL names the server and database in libpq's format. Passwords may also come from PGPASSWORD or ~/.pgpass.
	URL  string
	Site int64 // Digdag's site; servers that are not shared have only site 0
}

// Flags in Digdag's session_attempts.state_flags.
const (
	theirCancel  = 1
	theirDone    = 2
	theirSuccess = 4
)

// connect opens a connection that cannot change anything, and a transaction that sees a single snapshot.
func (d Database) begin(ctx context.Context) (tx pgx.Tx, end func(), err error) {
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("read the address of Digdag's database: %w", err)
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, fmt.Errorf("open Digdag's database: %w", err)
	}
	closing := context.WithoutCancel(ctx)
	tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open Digdag's database: %w", err), conn.Close(closing))
	}
	return tx, func() {
		_ = tx.Rollback(closing) // nothing was changed
		_ = conn.Close(closing)
	}, nil
}

const (
	attemptsFrom = ` FROM session_attempts a JOIN sessions s ON s.id = a.session_id JOIN projects p ON p.id = a.project_id
LEFT JOIN workflow_definitions w ON w.id = a.workflow_definition_id LEFT JOIN revisions r ON r.id = w.revision_id
WHERE a.site_id = @site AND a.created_at >= @since AND (@every OR p.name = ANY(@projects) OR p.deleted_name = ANY(@projects))`
	isOpen = `EXISTS (SELECT FROM session_attempts o WHERE o.session_id = a.session_id AND o.state_flags & @done = 0)`
	ofPart = `SELECT a.id, p.name, coalesce(r.name, ''), s.workflow_name, s.session_uuid::text, s.session_time, a.attempt_name, a.timezone,
coalesce(a.params, ''), a.created_at, coalesce(a.finished_at, a.created_at), a.state_flags` + attemptsFrom + `
AND p.deleted_at IS NULL AND NOT ` + isOpen + ` AND a.id > @after ORDER BY a.id LIMIT @count`
	ofAll = `SELECT count(*) FILTER (WHERE p.deleted_at IS NULL AND NOT ` + isOpen + `), count(*) FILTER (WHERE p.deleted_at IS NULL AND ` + isOpen + `),
count(*) FILTER (WHERE p.deleted_at IS NOT NULL)` + attemptsFrom
	ofSchedules = `SELECT p.name, w.name, x.next_run_time, x.next_schedule_time, x.last_session_time, x.disabled_at
FROM schedules x JOIN projects p ON p.id = x.project_id JOIN workflow_definitions w ON w.id = x.workflow_definition_id
WHERE p.site_id = @site AND p.deleted_at IS NULL AND (@every OR p.name = ANY(@projects)) ORDER BY x.id`
)

// atOnce is how many attempts one query reads.
const atOnce = 1000

func (d Database) args(f Filter) pgx.NamedArgs {
	since := f.Since
	if since.IsZero() {
		since = time.Unix(0, 0)
	}
	return pgx.NamedArgs{"site": d.Site, "since": since, "every": len(f.Projects) == 0, "projects": f.Projects, "done": theirDone}
}

// Attempts implements History.
func (d Database) Attempts(ctx context.Context, f Filter, survey func(Survey), do func([]client.PastAttempt) error) error {
	tx, end, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	args := d.args(f)
	var n Survey
	if err := tx.QueryRow(ctx, ofAll, args).Scan(&n.Attempts, &n.Unfinished, &n.Deleted); err != nil {
		return unreadable(err)
	}
	survey(n)
	args["after"], args["count"] = int64(0), atOnce
	for {
		rows, err := tx.Query(ctx, ofPart, args)
		if err != nil {
			return unreadable(err)
		}
		var last int64
		list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (client.PastAttempt, error) { return scanAttempt(r, &last) })
		if err != nil {
			return unreadable(err)
		}
		if len(list) == 0 {
			return nil
		}
		if err := do(list); err != nil {
			return err
		}
		args["after"] = last
	}
}

func scanAttempt(r pgx.CollectableRow, id *int64) (p client.PastAttempt, err error) {
	var session int64
	var flags int16
	var params string
	if err := r.Scan(id, &p.Project, &p.Revision, &p.Workflow, &p.SessionUUID, &session, &p.RetryAttemptName, &p.Timezone, &params, &p.CreatedAt, &p.FinishedAt, &flags); err != nil {
		return p, err
	}
	p.ID = client.ID(fmt.Sprint(*id))
	p.SessionTime = time.Unix(session, 0).UTC()
	p.CreatedAt, p.FinishedAt = p.CreatedAt.UTC(), p.FinishedAt.UTC()
	p.Success, p.CancelRequested = flags&theirSuccess != 0, flags&theirCancel != 0
	if params == "" {
		return p, nil
	}
	v, err := param.ParseJSON(params)
	if err != nil {
		return p, fmt.Errorf("parameters of attempt %s: %w", p.ID, err)
	}
	tree, ok := v.(*param.Map)
	if !ok {
		return p, fmt.Errorf("parameters of attempt %s: they are not an object", p.ID)
	}
	p.Params = tree
	return p, nil
}

// Schedules implements History.
func (d Database) Schedules(ctx context.Context, f Filter) ([]client.PastSchedule, error) {
	tx, end, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	rows, err := tx.Query(ctx, ofSchedules, d.args(f))
	if err != nil {
		return nil, unreadable(err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (x client.PastSchedule, err error) {
		var run, session int64
		var last *int64
		err = r.Scan(&x.Project, &x.Workflow, &run, &session, &last, &x.DisabledAt)
		x.NextRunTime, x.NextScheduleTime = time.Unix(run, 0).UTC(), time.Unix(session, 0).UTC()
		if last != nil {
			t := time.Unix(*last, 0).UTC()
			x.LastSessionTime = &t
		}
		return x, err
	})
	if err != nil {
		return nil, unreadable(err)
	}
	return list, nil
}

// unreadable explains why the history could not be read.
func unreadable(err error) error {
	const noTable, noColumn = "42P01", "42703"
	var answer *pgconn.PgError
	if errors.As(err, &answer) && (answer.Code == noTable || answer.Code == noColumn) {
		return fmt.Errorf("read Digdag's database: %w\nhint: name the database of a Digdag server of release 0.10 or later, and its schema with ?search_path=NAME if that is not public", err)
	}
	return fmt.Errorf("read Digdag's database: %w", err)
}
