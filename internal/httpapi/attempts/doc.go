// Package attempts serves sessions and their attempts: how they are listed, searched, started, paused, killed and run
// again, their tasks, history and logs, and streams of what happens. It knows no other room of endpoints.
package attempts
