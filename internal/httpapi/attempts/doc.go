// Package attempts serves sessions and their attempts: how they are listed, searched, started, paused, killed and run
// again, their tasks, history and logs, and streams of their events. It does not depend on other groups of endpoints.
package attempts
