// Package sql is shared by operators that send SQL to a database: the parameters of a query, the connection to a server
// that speaks PostgreSQL's protocol, and the handling of rows.
//
// Operators in the neighboring folders use it. It must connect only to the server that the task names, and must never
// log secrets.
package sql
