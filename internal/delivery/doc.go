// Package delivery handles the messages of an attempt. Each delivery of a message is received, claims its runs, lets
// the engine decide what happens, appends that to the log, carries out the effects, runs tasks, and is acknowledged
// last.
//
// Node and the Lambda functions call it for messages from the queues. It must never make decisions about tasks that
// belong to the engine, never depend on a store or an SDK, and never perform an effect before the entry that decided it
// is in the log. Schedules, pushes, starts and the API belong to the catalogue.
//
// # One delivery
//
//	received      receive.go   the message names an attempt, whose live copy is held
//	              event.go     an event: it is proposed to the engine
//	              task.go      a task, or several; or an event for a time
//	claimed       claim.go     which runs must be made now, under this message
//	decided       step.go      load, Step, append: until only I/O is left
//	performed     effects.go   what the message owes: messages are sent, runs are kept
//	running       run.go       a kept run, then the next one that its result makes ready (task.go);
//	              pack.go      or several concurrently
//	concluded     run.go       a result is an event: decided and performed again
//	acknowledged  delivery.go  the message is deleted; or released, to come again later
//	given up      giveup.go    an attempt that can never continue is ended
//
// The other files: proposal.go contains the change that a message requests, attempt.go an attempt in memory, job.go and
// runtime.go a run's inputs and environment.
//
// # Order of durability
//
// The order is: load, Step, append, carry out Outstanding(message), delete the message. For a message that was received
// before, the list is carried out even if Step changed nothing. A crash between any two calls loses nothing.
//
// Every effect has a deterministic ID, the guard: a message that is sent twice counts once. A run happens at least
// once: if a worker dies in the middle, its message is delivered again, and the engine decides what happens to the run
// (engine.Lost).
package delivery
