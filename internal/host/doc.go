// Package host is the shell around the engine: it loads an attempt, lets the engine step,
// settles what needs no I/O, appends to the log, carries out what is outstanding and
// deletes the message last. Agents, timers, schedules, pushes, starts and kills are here
// too, over small ports that a driver of each deployment implements.
//
// The server and the Lambdas call it. It must never decide anything about tasks that the
// engine decides, never import a store or an SDK, and never perform an effect before the
// entry that decided it is in the log.
//
// # Order of durability
//
// load, Step, append, carry out Outstanding(message), delete the message. On a message
// that was received before, the list is carried out even when Step changed nothing. A
// crash between any two calls loses nothing.
package host
