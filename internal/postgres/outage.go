package postgres

import (
	"sync"
	"time"

	"zerodag/internal/sqlstore"
)

// A process that could not reach the database has no information about the other processes. When it reconnects, it
// judges no leases for a while: holders whose leases have ended in the meantime may be alive and about to extend them.
// So an outage of the database, which all processes see, ends no lease, and an outage of a single process leaves the
// judgment to others.
const (
	// unheard is the time without a response after which an outage is assumed: it is shorter than the rest of a lease
	// that was extended on time.
	unheard = 12 * time.Second
	// grace is longer than the time between two extensions of a lease.
	grace = 15 * time.Second
	// transit is how long a statement may take to reach the server that judges leases: if it waited longer, in a stalled
	// server, the process that sent it was unaware of the delay.
	transit = 5 * time.Second
	// compared is how long a comparison with the server's clock stays valid.
	compared = time.Minute
)

// outage records when a process could reach the database.
type outage struct {
	mu    sync.Mutex
	last  time.Time // the last response
	until time.Time // until then, it judges no leases
	clock time.Time // the time of the server
	found time.Time // when the server showed that time, by this process's monotonic clock
	known bool      // the connections still lead to that server
}

// answered records that the database has answered.
func (o *outage) answered(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.last.IsZero() && now.Sub(o.last) > unheard {
		o.until = now.Add(grace)
	}
	o.last = now
}

// judges reports whether this process may judge leases, and the time of the server's clock, if known.
func (o *outage) judges(now time.Time) (may bool, clock time.Time, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	may = !now.Before(o.until) && (o.last.IsZero() || now.Sub(o.last) <= unheard)
	return may, o.clock.Add(now.Sub(o.found)), o.known && now.Sub(o.found) < compared
}

// compare records the server's time. If its clock has been set forward in the meantime, or belongs to another server,
// leases have ended whose holders are alive: they get time to extend them.
func (o *outage) compare(server, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.clock.IsZero() && server.Sub(o.clock.Add(now.Sub(o.found))) > transit {
		o.until = now.Add(grace)
	}
	o.clock, o.found, o.known = server, now, true
}

// forgetClock is called when the server may be a different one.
func (o *outage) forgetClock() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = false
}

// judges returns the time, by the server's clock, until which a statement that is sent now may take messages whose
// leases have ended; 0 means that it may take none.
func (db *DB) judges(c *conn) (int64, error) {
	may, shows, known := db.outage.judges(time.Now())
	if may && !known {
		micros, _, err := sqlstore.One(c, (*row).ID, "SELECT "+clock)
		if err != nil {
			return 0, err
		}
		db.outage.compare(time.UnixMicro(micros), time.Now())
		may, shows, _ = db.outage.judges(time.Now())
	}
	if !may {
		return 0, nil
	}
	return shows.Add(transit).UnixMicro(), nil
}
