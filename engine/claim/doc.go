// Package claim describes the resources that a task requests, waits for and holds: slots of pools (`_pool`) and time
// (`_timeout`). Its values are stored, and replaced as a whole.
//
// Package engine bases its decisions on them, and hosts read them. This package must never know about tasks.
package claim
