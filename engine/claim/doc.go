// Package claim is what a task asks for besides its turn, and has: slots of pools (`_pool`) and time (`_timeout`). Its values are stored,
// and replaced as a whole.
//
// Package engine decides with it, and hosts read it. It must never know a task.
package claim
