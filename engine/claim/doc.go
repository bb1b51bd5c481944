// Package claim describes what a task needs before and while it runs, and what it has been given: slots of pools
// (`_pool`) and time (`_timeout`). Its values are stored, and replaced as a whole.
//
// Package engine decides with them, and hosts read them. This package must never know about tasks.
package claim
