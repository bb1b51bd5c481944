// Package keys describes the keys of the workflow language. It derives from a task's keys its operator, its subtasks
// and the tasks of its handlers, and defines the values and meaning of each key that `zerodag: 1` adds.
//
// Each added key has a file with its reader, its check and the places where it is allowed. Readers take a value as
// written or as evaluated, and report mistakes by the names of the keys that lead there; the caller adds the position
// in the file. Nothing here reads a file or evaluates an expression.
package keys
