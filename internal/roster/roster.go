// Package roster maintains this server's record in the database's list of servers, and reports servers that were lost.
//
// A record shows users which servers exist. Nothing depends on it: message leases decide which server works on a task.
// The package must never judge another server by a machine's clock, or after it could not reach the database itself,
// because the other servers may have been unable to write their records, too.
package roster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"zerodag/internal/host"
)

// Kept is how long the record of a lost server is kept.
const Kept = 24 * time.Hour

// leave limits how long removing the record may delay the end of this process.
const leave = 5 * time.Second

// Options are the dependencies of a Roster.
type Options struct {
	Servers host.Servers
	// Self returns the record of this server as of now.
	Self func() host.Server
	// Every is the interval at which it is written. It must be shorter than the lease.
	Every time.Duration
	// Alone means that only one process at a time uses the database: all other records are of processes that have ended.
	Alone bool
	// Lost is called for each lost server that this process finds.
	Lost   func()
	Logger *slog.Logger
}

// Roster writes the record of one server. Run may be called once.
type Roster struct {
	Options
	last   time.Time // when the record was last written
	steady time.Time // since when it has been written on time
}

// New returns a Roster.
func New(o Options) *Roster { return &Roster{Options: o} }

// Run writes the record regularly, and at once when accepting ends. When ctx ends, it removes the record.
func (r *Roster) Run(ctx, accepting context.Context) {
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	stopping := accepting.Done()
	for {
		r.write(ctx)
		select {
		case <-ticker.C:
		case <-stopping:
			stopping = nil
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), leave)
			defer cancel()
			r.failed("remove the record of this server", r.Servers.RemoveServer(bounded, r.Self().ID))
			return
		}
	}
}

// write writes the record once, and checks for lost servers.
func (r *Roster) write(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, r.Every)
	defer cancel()
	err := r.Servers.PutServer(bounded, r.Self())
	if err == nil {
		now := time.Now()
		if r.last.IsZero() || now.Sub(r.last) > 2*r.Every {
			r.steady = now
		}
		r.last = now
		err = r.judge(bounded)
	}
	if ctx.Err() == nil {
		r.failed("record this server", err)
	}
}

// judge reports servers that have been silent for longer than their lease, unless this process could not write its own
// record at some point in a time as long as that.
func (r *Roster) judge(ctx context.Context) error {
	list, now, err := r.Servers.Servers(ctx)
	if err != nil {
		return err
	}
	self, kept := r.Self().ID, false
	for _, s := range list {
		kept = kept || !s.LostAt.IsZero()
		if s.ID == self || !s.LostAt.IsZero() || !r.Alone && (!s.Silent(now) || time.Since(r.steady) < s.Lease) {
			continue
		}
		lost, err := r.Servers.LoseServer(ctx, s)
		if err != nil {
			return err
		}
		if lost {
			r.Lost()
			r.Logger.Warn("a server ended or lost its connection to the database without being stopped", "server", s.Name, "host", s.Host, "process", s.PID,
				"last_seen", s.SeenAt.Format(time.RFC3339), "tasks", s.Running)
		}
	}
	if !kept {
		return nil
	}
	return r.Servers.ForgetServers(ctx, Kept)
}

// failed logs an error, unless the database is unavailable, which other parts report.
func (r *Roster) failed(what string, err error) {
	if err != nil && !errors.Is(err, host.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		r.Logger.Warn(what, "error", err)
	}
}
