// Package serverrun runs a server on this machine: the engine, the listeners and the log, until the context ends.
//
// `zerodag server` and `zerodag scheduler` start it with the options of package serverconfig. It opens and wires the
// parts, and never decides anything about tasks.
package serverrun
