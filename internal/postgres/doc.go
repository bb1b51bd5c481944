// Package postgres is the driver of the host's ports for PostgreSQL, 12 and newer: one schema of a database holds the
// logs of attempts, both queues, projects, schedules, sessions, secrets, tokens, archives and the logs of tasks, for any
// number of servers.
//
// Servers of one deployment open the same schema. It must never decide what the host decides, never touch a table outside
// of its schema (Digdag's lie beside it), and never keep in memory what another server has to know.
package postgres
