package host

import (
	"context"
	"time"
)

// Server is a process that works on a database's attempts.
type Server struct {
	ID      string // random: a process that is started again has a different one
	Name    string // agent.id, which is part of log file names
	Host    string
	PID     int
	Version string
	// Executor, Scheduler and Agent are the loops that it runs.
	Executor, Scheduler, Agent bool
	Types                      []string      // the operators whose tasks its agent runs; nil means all
	Running                    int           // task runs
	Slots                      int           // how many it runs at the same time; 0 means no limit
	Ahead                      time.Duration // how far its machine's clock is ahead of the database's
	Stopping                   bool          // it accepts no more work
	Lease                      time.Duration // how long it may be silent before others take over its tasks
	Exposed                    string        // why commands can read this server's data; "" if they cannot

	// These times are set by the store and follow the database's clock.
	StartedAt time.Time
	SeenAt    time.Time // when it last wrote its record
	LostAt    time.Time // when another server found that it was silent for too long; zero: it was not
}

// Silent reports whether the server has not written its record for longer than its lease. now is the database's time.
func (s Server) Silent(now time.Time) bool { return now.Sub(s.SeenAt) > s.Lease }

// Servers stores records about the servers that share a database.
type Servers interface {
	// PutServer adds a server's record, or replaces it except for StartedAt, and sets SeenAt. Afterwards the server does
	// not count as lost.
	PutServer(ctx context.Context, s Server) error
	// RemoveServer removes a record; a missing one is not an error.
	RemoveServer(ctx context.Context, id string) error
	// Servers lists the records in the order in which the servers were started, and returns the database's time.
	Servers(ctx context.Context) (list []Server, now time.Time, err error)
	// LoseServer sets LostAt, unless it is set or the server was seen since s.SeenAt. If several processes call it at
	// once, it returns true to only one.
	LoseServer(ctx context.Context, s Server) (bool, error)
	// ForgetServers removes the records of servers that were lost longer ago than kept.
	ForgetServers(ctx context.Context, kept time.Duration) error
}
