// Package sqlite is the embedded driver of the host's ports: one SQLite file holds the
// logs of attempts, both queues, projects, schedules, sessions, secrets and tokens.
//
// The local server, the embedding API and the tests open it. It must never decide what
// the host decides, never let two processes share a file (leases live in memory), and
// never answer a write before it is committed.
//
// Package sqlstore implements most ports, for this database and for PostgreSQL. What is here is SQLite's own: one writer,
// queues in memory, appending to a log, short logs of tasks, backups.
//
// # Writing
//
// All writes go through one connection. Calls that wait at the same time are committed
// together, each in a savepoint of its own, by the first of them (see writer). A commit
// survives the end of the process; one that holds a push, a start or another thing that
// a user was told of survives a loss of power as well (Options.Sync).
//
// # Queues
//
// Messages are rows; what is visible, leased or waiting is an index in memory that is
// built on opening. So there is no polling, and a message that was leased when the process died
// is there at once when it is opened again.
package sqlite
