package postgres

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// pollEvery is the average interval of checks for messages: a notification is lost if the listening connection breaks,
// and none is sent when the lease of a killed process ends.
const pollEvery = 5 * time.Second

// pollPooled is the same interval through a pooler, which forwards no notifications.
const pollPooled = 500 * time.Millisecond

// enter takes a place in line among the waiting receivers.
func (q *Queue) enter() chan struct{} {
	wait := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters = append(q.waiters, wait)
	return wait
}

// leave takes a receiver out of the line. If it was woken in the meantime, or if more messages may be left, another
// receiver is woken.
func (q *Queue) leave(wait chan struct{}, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiters, wait); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
	} else {
		more = true
	}
	if more {
		q.wakeOne()
	}
}

// wake lets one receiver check again; if it gets as many messages as it wants, it wakes the next one.
func (q *Queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeOne()
}

// wake lets receivers of this process check for the messages that a call has sent. Notifications do that, but none
// arrive through a pooler.
func (db *DB) wake(c *conn) {
	if !db.pooled.Load() {
		return
	}
	for _, q := range c.woken {
		q.wake()
	}
}

// wakeOne does the work of wake. The lock must be held.
func (q *Queue) wakeOne() {
	if len(q.waiters) > 0 {
		close(q.waiters[0])
		q.waiters = q.waiters[1:]
	}
}

// arm makes a receiver check again when the next message becomes visible, and in any case after a while.
func (q *Queue) arm(next time.Duration) {
	every := q.poll
	if q.db.pooled.Load() {
		every = min(every, pollPooled)
	}
	wait := time.Duration(float64(every) * (.8 + .4*rand.Float64())) // #nosec G404 -- it spreads checks
	if next >= 0 {
		wait = min(wait, max(next, time.Millisecond))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	ends := time.Now().Add(wait)
	if q.timer != nil {
		if q.ends.Before(ends) {
			return
		}
		q.timer.Stop()
	}
	q.armed++
	set := q.armed
	q.timer, q.ends = time.AfterFunc(wait, func() { q.tick(set) }), ends
}

// tick handles the timer, unless it has been set again since.
func (q *Queue) tick(set int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.armed != set {
		return
	}
	q.timer = nil
	q.wakeOne()
}

// Times for the listening connection: how long it may be silent before it is tested, how long the response may take,
// and how soon it is reopened.
const (
	silence   = 15 * time.Second
	answer    = 5 * time.Second
	leastRest = 50 * time.Millisecond
	mostRest  = 5 * time.Second
	poolRest  = time.Minute // through a pooler, until a connection shows that there no longer is one
)

// listen wakes receivers when messages arrive, until the database is closed. A connection that breaks is reopened.
func (db *DB) listen(config *pgx.ConnConfig) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-db.done:
			cancel()
		case <-stop:
		}
	}()
	for rest := leastRest; ; rest = min(2*rest, mostRest) {
		if db.hear(ctx, config) {
			rest = leastRest
		}
		if db.pooled.Load() {
			rest = poolRest
		}
		if !db.pause(ctx, time.Duration(float64(rest)*(.5+rand.Float64()))) { // #nosec G404 -- it spreads retries
			return
		}
	}
}

// hear listens on one connection until it breaks, and reports whether it ever listened.
func (db *DB) hear(ctx context.Context, config *pgx.ConnConfig) (heard bool) {
	to, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), answer)
		defer cancel()
		to.Close(bounded) //nolint:errcheck // it is not used again
	}()
	if pooled, err := throughPooler(ctx, to); err != nil || pooled {
		return false // another client may get the listening connection, and its notifications
	}
	if _, err := to.Exec(ctx, "LISTEN "+db.channel); err != nil {
		return false
	}
	for _, q := range db.queues {
		q.wake() // for messages sent before it listened
	}
	for {
		bounded, cancel := context.WithTimeout(ctx, silence)
		n, err := to.WaitForNotification(bounded)
		late := bounded.Err() != nil
		cancel()
		switch {
		case err == nil:
			if q := db.queues[n.Payload]; q != nil {
				q.wake()
			}
		case ctx.Err() != nil || !late || to.IsClosed():
			return true
		default:
			bounded, cancel := context.WithTimeout(ctx, answer)
			err := to.Ping(bounded)
			cancel()
			if err != nil {
				return true
			}
		}
	}
}
