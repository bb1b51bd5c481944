// Package attempts serves sessions and their attempts: listing, searching, starting, pausing, killing and rerunning
// them, their tasks, history and logs, and streams of their events. It does not depend on other groups of endpoints.
package attempts
