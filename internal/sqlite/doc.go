// Package sqlite is the embedded driver of the host's ports: one SQLite file holds attempt logs, both queues, projects,
// schedules, sessions, secrets and tokens.
//
// The local server, the embedding API and the tests open it. It must never decide what the host decides, never let two
// processes share a file (leases are in memory), and never acknowledge a write before it is committed.
//
// Package sqlstore implements most ports, for this database and for PostgreSQL. This package contains the parts
// specific to SQLite: a single writer, in-memory queues, appending to a log, short task logs and backups.
//
// # Writing
//
// All writes go through one connection. Calls that wait at the same time are committed together, each in its own
// savepoint, by the first of them (see writer). A commit survives the end of the process; a commit of a push, a start
// or any other change that was acknowledged to a user also survives a power loss (Options.Sync).
//
// # Queues
//
// Messages are rows; an index in memory, built on opening, records whether they are visible, leased or waiting. So
// there is no polling, and a message that was leased when the process died is available as soon as the database is
// opened again.
package sqlite
