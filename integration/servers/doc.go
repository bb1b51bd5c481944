// Package servers proves that several servers that share a PostgreSQL database act as one: the tests of a server's
// behavior (recorded cases, REST calls, Digdag's Java client, kills under load) run against two of them behind a proxy
// that alternates between them, while servers are killed and the database restarts.
//
// `make test-servers` runs it. It must only start servers through package server, because the same tests also run
// against one server.
package servers
