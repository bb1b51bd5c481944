// Package lineage describes what a process inherits from its parent: variables, and a mark that all its descendants
// share, whatever happens to their parents, sessions and environments.
//
// The drivers that run commands on this machine call it. It must neither search for processes nor end them.
package lineage

import "math"

// Mark is a number that a process inherits from the process that started it. On Linux, it is the file lock limit, which
// the kernel keeps for every process and has not used since 2003. An unprivileged process can make its mark smaller,
// but never larger.
type Mark uint64

// None is the mark of a process that is unmarked, or whose mark the system does not report.
const None Mark = math.MaxUint64

// Client marks a process that is not a command: a container engine's client. It is larger than any command's mark, so
// that no command can have it.
const Client Mark = 1 << 62
