// Package keys knows the keys of the workflow language: what a look at a task's keys tells (its operator, its subtasks, the
// tasks of its handlers), and what each key that `zerodag: 1` adds may say and means.
//
// Each key of that kind has a file, with what reads it, what checks it and where it may stand. Readers take a value as it is
// written or as an expression made it, and report what is wrong by the names of the keys that lead there; the caller puts a
// place to it. Nothing here reads a file, and nothing evaluates an expression.
package keys
