// Package postgres is the driver of the host's ports for PostgreSQL, 12 and newer: one schema of a database holds the
// logs of attempts, both queues, projects, schedules, sessions, secrets, tokens, archives and the logs of tasks, for
// any number of servers.
//
// Servers of one deployment open the same schema. It must never decide what the host decides, never touch a table
// outside of its schema (Digdag's lie beside it), and never keep in memory what another server has to know.
//
// Package sqlstore implements most ports, for this database and for SQLite. What is here is PostgreSQL's own:
// transactions that run once, queues in rows, appending to a log, archives, logs of tasks, outages.
//
// # Once
//
// A change is neither lost nor made twice, whatever becomes of connections. Every transaction reads committed data and
// takes the locks that it needs itself. It is run again when PostgreSQL has rolled it back (a deadlock, a server that
// stops); when the connection breaks during the commit, PostgreSQL is asked for a mark that the transaction itself
// wrote (marks.go). Single statements need no mark if their effect can be recognised (an entry has a nonce, a lease a
// receipt), and are repeated. See write.go, and the comment of each method.
//
// # Queues
//
// A message is a row; free_at is from when on it can be received: when it was sent or is due, or when its lease ends.
// All of this is judged by PostgreSQL's clock (statement_timestamp), so clocks of those who receive do not matter. They
// take the rows with the least free_at that nobody else is just taking (SKIP LOCKED).
//
// Numbers of rows are given out before their transactions are committed, so a row can appear behind one with a higher
// number. In a group that would break the order: two servers could hold two of its messages, each believing that its
// own is the first. So whoever adds to a group, or deletes its first message, holds the group (an advisory lock) until
// it has committed: numbers of a group appear in their order, and of its messages only the first has a free_at. The
// others get theirs when they are the first. An attempt that is being made needs no lock: nobody else knows its group.
//
// Elsewhere the order of numbers is good enough. Lists that continue from a number (After, Before) show people what was
// there about then, and whoever looks after all attempts comes round again. What is due is found by its time, never by
// its number.
//
// A notification wakes receivers of all servers. It is only a hint: whoever waits also looks when the next message is
// due or the next lease ends, when the connection that listens was made again, and every few seconds.
package postgres
