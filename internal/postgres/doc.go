// Package postgres is the driver of the host's ports for PostgreSQL, 12 and newer: one schema of a database holds
// attempt logs, both queues, projects, schedules, sessions, secrets, tokens, archives and task logs, for any number of
// servers.
//
// Servers of one deployment open the same schema. It must never decide what the host decides, never touch a table
// outside its schema (Digdag's tables are in another schema), and never keep state in memory that another server needs.
//
// Package sqlstore implements most ports, for this database and for SQLite. This package contains the parts specific to
// PostgreSQL: transactions that run once, queues in rows, appending to a log, archives, task logs and outages.
//
// # Once
//
// A change is neither lost nor made twice, even if connections break. Every transaction reads committed data and takes
// the locks that it needs itself. It is run again if PostgreSQL has rolled it back (a deadlock, a server that stops);
// if the connection breaks during the commit, PostgreSQL is queried for a mark that the transaction itself wrote
// (marks.go). Single statements need no mark if their effect can be recognized (an entry has a nonce, a lease a
// receipt), and are repeated. See write.go, and the comment of each method.
//
// # Queues
//
// A message is a row; free_at is the time from which it can be received: when it was sent or is due, or when its lease
// ends. PostgreSQL's clock (statement_timestamp) decides all of this, so the clocks of the receivers do not matter.
// They take the rows with the lowest free_at that no other receiver is taking at that moment (SKIP LOCKED).
//
// Row numbers are assigned before their transactions are committed, so a row can appear behind one with a higher
// number. In a group, that would break the order: two servers could hold two of its messages, each believing that its
// own is the first. So a transaction that adds to a group, or deletes its first message, holds the group (an advisory
// lock) until it has committed: the numbers in a group appear in order, and only the first of its messages has a
// free_at. The others get theirs when they become the first. An attempt that is being created needs no lock: no one
// else knows its group.
//
// Elsewhere the order of numbers is good enough. Lists that continue from a number (After, Before) show users the rows
// that existed about then, and every sweep over all attempts is repeated. Due work is found by its time, never by its
// number.
//
// A notification wakes receivers of all servers. It is only a hint: a waiting receiver also checks when the next
// message is due or the next lease ends, when the listening connection was opened again, and every few seconds.
package postgres
