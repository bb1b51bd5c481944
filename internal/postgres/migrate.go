package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"zerodag/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known returns the migrations of this program.
func (o Options) known() (sqlstore.Migrations, error) {
	files := o.migrations
	if files == nil {
		sub, err := fs.Sub(migrationFiles, "migrations")
		if err != nil {
			return nil, fmt.Errorf("list migrations: %w", err)
		}
		files = sub
	}
	return sqlstore.ReadMigrations(files)
}

// Pending returns the names of the migrations that a database lacks, in order: all migrations if the database has no
// zerodag schema yet. It changes nothing. It uses only the options URL and Schema.
func Pending(ctx context.Context, o Options) (list []string, err error) {
	err = looking(ctx, o, func(c *conn, schema string) error {
		missing, err := o.missing(c, schema)
		list = missing.Names()
		return err
	})
	return list, err
}

// looking opens one connection for the duration of look.
func looking(ctx context.Context, o Options, look func(c *conn, schema string) error) (err error) {
	config, schema, err := configOf(o)
	if err != nil {
		return err
	}
	to, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fmt.Errorf("open database %s: %w", place(config.ConnConfig), translated(ctx, err))
	}
	defer func() { err = errors.Join(err, to.Close(context.WithoutCancel(ctx))) }()
	if err := look(&conn{ctx: ctx, to: to, schema: qualifier(schema)}, schema); err != nil {
		return fmt.Errorf("open database %s: %w", place(config.ConnConfig), err)
	}
	return nil
}

// Migrate brings a database up to date, creates its schema if necessary, and returns the names of the migrations that
// it lacked.
func Migrate(ctx context.Context, o Options) ([]string, error) {
	missing, err := Pending(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Migrate = true
	db, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return missing, db.Close()
}

// missing lists the migrations that a database lacks. A newer database is refused.
func (o Options) missing(c *conn, schema string) (sqlstore.Migrations, error) {
	list, err := o.known()
	if err != nil {
		return nil, err
	}
	version, _, err := sqlstore.One(c, (*row).Int, "SELECT current_setting('server_version_num')::bigint")
	if err != nil {
		return nil, err
	}
	if version < leastVersion {
		return nil, fmt.Errorf("the server runs PostgreSQL %d, but 12 or later is required: upgrade it", version/10000)
	}
	_, exists, err := sqlstore.One(c, (*row).Int, "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = convert_from($1, 'UTF8') AND tablename = 'schema_migrations'", schema)
	if err != nil || !exists {
		return list, err
	}
	at, _, err := sqlstore.One(c, (*row).Int, "SELECT max(version) FROM @schema_migrations")
	if err != nil {
		return nil, err
	}
	oldest, _, err := sqlstore.One(c, (*row).Int, "SELECT max(oldest) FROM @schema_migrations")
	if err != nil {
		return nil, err
	}
	if list, err = list.After(at, oldest); err != nil {
		return nil, fmt.Errorf("the schema %q %w", schema, err)
	}
	return list, nil
}

// prepare checks the schema and, if allowed, brings it up to date: each migration is one transaction, and only one
// process at a time applies migrations. Repeating it does nothing.
func (db *DB) prepare(c *conn, schema string, o Options, now time.Time) error {
	list, err := o.missing(c, schema)
	if err != nil || len(list) == 0 {
		return err
	}
	if !o.Migrate {
		return fmt.Errorf("the schema %q lacks %s: run `zerodag migrate run`", schema, strings.Join(list.Names(), ", "))
	}
	for _, m := range list {
		if err := db.apply(c, schema, m, now); err != nil {
			return fmt.Errorf("migrate the schema %q: %s: %w", schema, m.Name, err)
		}
	}
	return nil
}

// apply applies one migration, unless another process has applied it in the meantime. It refuses a migration that
// running servers of an earlier release could not work with.
func (db *DB) apply(c *conn, schema string, m sqlstore.Migration, now time.Time) (err error) {
	if _, err := c.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.Exec("ROLLBACK") //nolint:errcheck // if that fails, the connection is dropped, and the transaction with it
		}
	}()
	if _, err := c.Exec("SELECT pg_advisory_xact_lock($1)", hashOf("migrate", schema)); err != nil {
		return err
	}
	made, err := c.madeSchema(schema)
	if err != nil {
		return err
	}
	if made {
		_, done, err := sqlstore.One(c, (*row).Int, "SELECT 1 FROM @schema_migrations WHERE version = $1", m.Version)
		if err != nil {
			return err
		}
		if done {
			_, err := c.Exec("COMMIT")
			return err
		}
		if older, err := db.OlderServers(c, m.Oldest); err != nil || len(older) > 0 {
			return errors.Join(err, stillRunning(older, m.Oldest))
		}
	}
	if _, err := c.Exec("SET LOCAL search_path TO " + pgx.Identifier{schema}.Sanitize()); err != nil { // the files do not name the schema
		return err
	}
	if _, err := c.to.Exec(c.ctx, m.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return translated(c.ctx, err)
	}
	if _, err := c.Exec("INSERT INTO @schema_migrations (version, oldest, name, applied_at) VALUES ($1, $2, $3, $4)", m.Version, m.Oldest, m.Name, now); err != nil {
		return err
	}
	_, err = c.Exec("COMMIT")
	return err
}

// stillRunning returns an error if servers of an earlier release are running.
func stillRunning(servers []string, version int) error {
	if len(servers) == 0 {
		return nil
	}
	return fmt.Errorf("it removes something that running servers of an earlier release use: %s."+
		" First stop them, or upgrade them to a release that knows schema version %d", strings.Join(servers, ", "), version)
}

// madeSchema creates the schema and the table of migrations unless they exist. A user without the right to create
// schemas can have one created by an administrator.
func (c *conn) madeSchema(schema string) (there bool, err error) {
	_, there, err = sqlstore.One(c, (*row).Int, "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = convert_from($1, 'UTF8') AND tablename = 'schema_migrations'", schema)
	if err != nil || there {
		return there, err
	}
	_, exists, err := sqlstore.One(c, (*row).Int, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = convert_from($1, 'UTF8')", schema)
	if err != nil {
		return false, err
	}
	if !exists {
		if _, err := c.Exec("CREATE SCHEMA " + pgx.Identifier{schema}.Sanitize()); err != nil {
			return false, err
		}
	}
	_, err = c.Exec("CREATE TABLE @schema_migrations (version bigint PRIMARY KEY, oldest bigint NOT NULL, name bytea NOT NULL, applied_at bigint NOT NULL)")
	return false, err
}
