// Package sqlstore implements the host's ports once for both SQL databases: projects, workflows, schedules, attempts,
// sessions, retention, secrets, tokens, pools, backfills, the audit log, parameters, and reading the logs of attempts.
//
// Packages sqlite and postgres embed a Store. Each provides a Driver (how it reads and commits) and a Dialect (the
// parts of SQL that differ), and implements the parts that have nothing in common: queues, appending to a log, and task
// logs. This package must not know which database it uses: each difference is either in the Dialect or in a method of
// the driver package.
//
// # Statements
//
// The SQL here has a question mark for each argument, an @ sign before each table name (which a driver replaces with
// the schema if the database has several), and bool arguments for flags. Row reads whatever type the database returns
// for a column. A transaction may run more than once, so a function that runs in one sets its results again each time.
// It locks the rows that it judges (Store.locking): PostgreSQL runs transactions concurrently, and SQLite, which runs
// one at a time, ignores the locks.
package sqlstore
