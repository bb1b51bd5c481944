// Package engine is the state machine of one attempt: Step decides what an event changes, and Outstanding lists the
// effects that the host must still carry out.
//
// Hosts (the command line, the server, the Lambda functions) call it. It must never do I/O, read a clock, draw a random
// number, start a goroutine, evaluate an expression or run an operator: time, ids and results arrive with events.
//
// Terms, all of them Digdag's:
//
//	project   a folder of workflows, pushed as one
//	revision  one pushed version of a project
//	workflow  a .dig file: a tree of tasks
//	session   a workflow at a session time
//	attempt   one run of a session; this package's State
//	task      a node of the tree: a group, or an operator with its config
//	export    parameters that a task's children see
//	store     parameters that everything after a task sees
//
// And the host's:
//
//	dispatch  number of one run of a task: first, poll, retry or after a loss
//	guard     the message under which an effect was decided; its holder carries the effect out
//
// # The contract
//
// Step changes the State in place and returns the changes. Only the changes must be stored: Apply on a State decoded
// from a snapshot leads to the same State without deciding anything again. The host appends the changes to the
// attempt's log before it carries out a single effect, carries out all of Outstanding(guard) before it deletes the
// message with that guard, and discards the State if the append was refused.
package engine
