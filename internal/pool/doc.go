// Package pool holds the rules by which tasks share the slots of a pool: who may take slots, who has to wait,
// and who is told to try again.
//
// A Turn is one worker's go at a claim. It is a pure value: it says which one call of the store comes next and
// is given what that call answered. Runner.Run runs one on a store; a test of this package walks through all orders in
// which the calls of several workers can meet each other, with workers that crash, messages that are worked on
// twice and tasks that are killed (`make model`).
//
// Three rules carry it. A worker takes all slots of its claim in one call, and only if everybody before it in
// the line fits as well. It stops waiting only after a read that began when its claim was in the line. Whoever
// has taken or freed slots, or left the line, reads the pool again and wakes those at the head who fit now; who has
// changed nothing wakes nobody, or messages that come too late would breed others.
//
// Nobody is given a slot by another worker, and no slot is freed by a clock: who was woken tries again, and a
// slot is freed when the log of its holder says that the try is over. So no answer can be lost, and a slow task
// cannot lose its slot.
//
// The package must never read a clock or a store, nor know what an attempt is.
package pool
