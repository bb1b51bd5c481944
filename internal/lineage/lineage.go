// Package lineage describes what a process inherits from its parent: variables, and a mark that all its descendants
// share, whatever happens to their parents, sessions and environments.
//
// The drivers that run commands on this machine call it. It must neither search for processes nor end any.
package lineage

import "math"

// Mark is inherited from the process that started another. On Linux it is the limit of file locks, which the kernel
// keeps for every process and has not used since 2003. A process without privileges can make its mark smaller, never
// larger.
type Mark uint64

// None is the mark of an unmarked process, or of one about which the system reports nothing.
const None Mark = math.MaxUint64

// Client marks a process which is not a command: the client of a container engine. It is larger than all marks of
// commands, so that no command can have it.
const Client Mark = 1 << 62
