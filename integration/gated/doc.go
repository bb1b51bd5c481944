// Package gated runs workflows with `zerodag: 1` on the embedded server, on servers that share a database and on a
// deployed stack, and states the expected result of each.
//
// Only its tests use it. A txtar file in cases/ holds a project and, in its last file `want`, how the project's first
// workflow ends, with the state of each task. A file in bad/ holds a project with one mistake, and the error that
// `check` shows. It must never hold a case without `zerodag: 1`: Digdag's behavior is recorded in conformance.
package gated
