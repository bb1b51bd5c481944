// Package pool contains the rules by which tasks share a pool's slots: which tasks may take slots, which have to wait,
// and which are woken to try again.
//
// A Turn is one worker's handling of a claim. It is a pure value: it names the next call to the store and receives the
// response. Runner.Run runs one on a store; a test of this package walks through all orders in which the calls of
// several workers can interleave, with workers that crash, messages that are handled twice and tasks that are killed
// (`make model`).
//
// The package relies on three rules. A worker takes all slots of its claim in one call, and only if all claims before
// it in the line also fit. It stops waiting only after a read that began when its claim was in the line. A worker that
// has taken or freed slots, or left the line, reads the pool again and wakes the claims at the head that now fit; a
// worker that has changed nothing wakes no one, because otherwise late messages would cause more messages.
//
// No worker gives slots to another, and no clock frees a slot: a woken task tries again, and a slot is freed when the
// log of its holder shows that the attempt at the task has ended. Therefore no response can be lost, and a slow task
// cannot lose its slot.
//
// The package must never read a clock or a store, nor depend on attempts.
package pool
