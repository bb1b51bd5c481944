// Package delivery handles the messages of an attempt: each delivery of a message is received,
// claims the runs that it is for, decides with the engine what happens, keeps that in the log,
// carries out the effects, runs tasks, and is acknowledged last.
//
// Node calls it for what it receives from the queues, and so do the Lambdas. It must never decide
// anything about tasks that the engine decides, never know a store or an SDK, and never perform
// an effect before the entry that decided it is in the log. Schedules, pushes, starts and the API
// are the catalogue's.
//
// # One delivery
//
//	received      receive.go   the message names an attempt, whose live copy is held
//	              event.go     an event: it is proposed to the engine
//	              task.go      a task, or several; or an event for a time
//	claimed       claim.go     which runs are to be made now, under this message
//	decided       step.go      load, Step, append: until nothing is left that needs no I/O
//	performed     effects.go   what the message owes: messages are sent, runs are kept
//	running       run.go       a kept run, then the next one that its result makes ready (task.go);
//	              pack.go      or several side by side
//	concluded     run.go       a result is an event: decided and performed again
//	acknowledged  delivery.go  the message is deleted; or released, to come again later
//	given up      giveup.go    an attempt that can never go on is ended
//
// Beneath them: proposal.go is what a message wants to happen, attempt.go an attempt in memory,
// job.go and runtime.go what a run sees and is made with.
//
// # Order of durability
//
// load, Step, append, carry out Outstanding(message), delete the message. On a message
// that was received before, the list is carried out even when Step changed nothing. A
// crash between any two calls loses nothing.
//
// Every effect has a deterministic ID, the guard: a message that is sent twice is one. A run is
// at least once: a worker that dies in the middle has its message come again, and the engine
// says what becomes of the run then (engine.Lost).
package delivery
