// Package sql is what operators share that send SQL to a database: the parameters of a
// query, the connection to a server that speaks PostgreSQL's protocol, and what becomes of
// the rows.
//
// Operators in folders beside it call it. It must connect to nothing but the server that
// the task names, and must never log what is a secret.
package sql
