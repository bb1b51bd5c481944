package shared

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Clock is the clock of a server that shares a database. It is the machine's clock unless that differs from the
// database's clock by more than two seconds: in that case, it follows the database, because a server whose clock is
// ahead would fire everyone's schedules early. It is safe for concurrent use.
type Clock struct {
	local  func() time.Time
	offset atomic.Int64 // is added to the machine's clock
	ahead  atomic.Int64 // how far the machine's clock was ahead at the last comparison
}

const (
	// tolerated is the maximum difference between the clocks at which the machine's clock is used. A difference that has
	// been reported must fall below half of this maximum, so that the clock does not switch back and forth.
	tolerated = 2 * time.Second
	// certain is how long a response may take for it to be used as the time: the error is at most half of that.
	certain = time.Second
	// checkClock is the interval between two comparisons.
	checkClock = 30 * time.Second
)

// NewClock returns a clock; local is the machine's clock, time.Now.
func NewClock(local func() time.Time) *Clock { return &Clock{local: local} }

// Now returns the current time.
func (c *Clock) Now() time.Time { return c.local().Add(time.Duration(c.offset.Load())) }

// Ahead returns how far the machine's clock was ahead of the database's at the last comparison.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// Check compares the clock with the database's clock once, and logs if it starts or stops following it. ask returns the
// database's time. If the database does not respond, or not promptly, nothing changes.
func (c *Clock) Check(ctx context.Context, ask func(context.Context) (time.Time, error), logger *slog.Logger) {
	asked := c.local()
	at, err := ask(ctx)
	took := c.local().Sub(asked)
	if err != nil || took > certain {
		return
	}
	now := time.Duration(c.offset.Load())
	ahead := asked.Add(took / 2).Sub(at)
	c.ahead.Store(int64(ahead))
	follows := now != 0
	switch right := ahead.Abs() < tolerated/2 || !follows && ahead.Abs() <= tolerated; {
	case !right && (ahead+now).Abs() > tolerated/2:
		c.offset.Store(int64(-ahead))
		logger.Warn("the clock of this machine differs from that of the database, whose time is used instead: synchronize the clocks of all servers, for example with NTP", "ahead", ahead.Round(time.Millisecond))
	case right && follows:
		c.offset.Store(0)
		logger.Info("the clock of this machine agrees with that of the database again")
	}
}

// Follow regularly compares the clock with the database's clock until ctx ends.
func (c *Clock) Follow(ctx context.Context, ask func(context.Context) (time.Time, error), logger *slog.Logger) {
	ticker := time.NewTicker(checkClock)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.Check(ctx, ask, logger)
		case <-ctx.Done():
			return
		}
	}
}
