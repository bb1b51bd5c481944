package redshift

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/operators/sql"
)

// session is a connection with operations on status tables.
type session struct{ *sql.Session }

// once calls execute unless the status table of the query marks it as done. An existing table is complete: the
// transaction that did the work created it. While another run is working, creating the table waits for that run to end.
func (s session) once(ctx context.Context, q *sql.Query, id string, execute func() error) error {
	status := sql.Table{Schema: q.Status.Schema, Name: q.Status.Name + "_" + id}
	if err := s.Script(ctx, "begin a transaction", "BEGIN"); err != nil {
		return err
	}
	done, err := s.begin(ctx, status, id)
	if err != nil {
		return err
	}
	if done {
		return s.Script(ctx, "rollback a transaction", "ROLLBACK")
	}
	if err := execute(); err != nil {
		return err
	}
	if err := s.Script(ctx, "update status row", "UPDATE "+status.Quoted()+" SET completed_at = GETDATE()::timestamptz"); err != nil {
		return err
	}
	if err := s.Commit(ctx); err != nil {
		return err
	}
	s.forget(ctx, q)
	return nil
}

// begin creates the status table; done reports that it already exists.
func (s session) begin(ctx context.Context, status sql.Table, id string) (done bool, err error) {
	name := status.Quoted()
	err = s.Script(ctx, "create a status table "+name+".\n"+
		"hint: if you don't have permission to create tables, please try one of these options:\n"+
		"1. add 'strict_transaction: false' option to disable exactly-once transaction control that depends on this table.\n"+
		"2. ask system administrator to create a schema that this user can create a table and set 'status_table_schema' option to it\n",
		fmt.Sprintf("CREATE TABLE %s AS SELECT '%s'::text AS query_id, GETDATE()::timestamptz AS created_at, NULL::timestamptz AS completed_at", name, id))
	if c := sql.Code(err); c == sql.NotUnique || c == sql.TableThere || c == sql.TypeThere {
		return true, nil
	}
	return false, err
}

// idForm matches query ids, and therefore the ends of status table names.
var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`) })

// forget drops status tables that are no longer needed. The work is done, whether or not this succeeds.
func (s session) forget(ctx context.Context, q *sql.Query) {
	where, args := "schemaname = current_schema()", []string{q.Status.Name + "_"}
	if q.Status.Schema != "" {
		where, args = "schemaname = $2", append(args, q.Status.Schema)
	}
	var found []sql.Table
	err := s.Query(ctx, "look for old status tables", "SELECT schemaname, tablename FROM pg_tables WHERE substring(tablename, 1, length($1)) = $1 AND "+where, args,
		func(_ []pgconn.FieldDescription, row [][]byte) error {
			if row != nil && idForm().MatchString(strings.TrimPrefix(string(row[1]), q.Status.Name)) {
				found = append(found, sql.Table{Schema: string(row[0]), Name: string(row[1])})
			}
			return nil
		})
	if err != nil {
		return
	}
	for _, status := range found {
		old := false
		err := s.Query(ctx, "look up rows of a status table", fmt.Sprintf("SELECT 1 FROM %s WHERE completed_at < GETDATE()::timestamptz - interval '%d seconds'",
			status.Quoted(), int64(q.Keep.Seconds())), nil, func(_ []pgconn.FieldDescription, row [][]byte) error {
			old = old || row != nil
			return nil
		})
		if err == nil && old {
			_ = s.Script(ctx, "drop a status table", "DROP TABLE "+status.Quoted())
		}
	}
}

// end ends the statements that begin with a tag: they continue if the agent that waits for them dies. This takes two
// queries, since leader node functions cannot be combined with system tables.
func (s session) end(ctx context.Context, tag string) error {
	var running []string
	err := s.Query(ctx, "look for queries of earlier runs", "SELECT pid FROM stv_recents WHERE status = 'Running' AND substring(query, 1, length($1)) = $1",
		[]string{tag}, func(_ []pgconn.FieldDescription, row [][]byte) error {
			if row != nil {
				running = append(running, string(row[0]))
			}
			return nil
		})
	for _, pid := range running {
		if err == nil {
			err = s.Query(ctx, "end queries of earlier runs", "SELECT pg_terminate_backend("+pid+") WHERE pg_backend_pid() <> "+pid, nil, nil)
		}
	}
	return err
}
