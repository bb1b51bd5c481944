package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"zerodag/internal/host"
)

// Limits on the attempts at a call. A failover takes longer than all attempts together; the host tries again after
// that.
const (
	tries     = 8
	firstWait = 10 * time.Millisecond
	mostWait  = time.Second
	// tryTime limits one attempt, because waiting for a server that disappeared silently would take far longer. No
	// further attempt begins after mostTime.
	tryTime  = time.Minute
	mostTime = 20 * time.Second
	// settleTime limits how long the database is asked whether a commit was made.
	settleTime = 10 * time.Second
)

// repeat calls try until it gets a response. If PostgreSQL rolled the call back or could not be reached, repeat tries
// again after a pause that lets other transactions finish; each caller states why the call may be repeated.
func (db *DB) repeat(ctx context.Context, try func(ctx context.Context) error) error {
	wait, began := firstWait, time.Now()
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, tryTime)
		err := try(bounded)
		cancel()
		if err == nil {
			db.outage.answered(time.Now())
		}
		if errors.Is(err, syscall.ENOSPC) {
			db.full.Store(time.Now().UnixNano())
		}
		if cause := ctx.Err(); err != nil && cause != nil {
			return err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: no answer within %v: %w", host.ErrNoDatabase, tryTime, err)
		}
		if n == tries || !mayPass(err) || time.Since(began) > mostTime {
			return err
		}
		if !db.pause(ctx, time.Duration(float64(wait)*(.5+rand.Float64()))) { // #nosec G404 -- it spreads retries
			return err
		}
		wait = min(2*wait, mostWait)
	}
}

// mayPass reports whether another attempt may soon succeed.
func mayPass(err error) bool {
	var unknown *doubt
	return errors.Is(err, host.ErrUnavailable) && !errors.Is(err, errClosed) && !errors.As(err, &unknown)
}

// pause waits; false means that the context has ended, or the database was closed.
func (db *DB) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-db.done:
	}
	return false
}

// errClosed is returned by calls that come after Close.
var errClosed = fmt.Errorf("%w: the database is closed", host.ErrUnavailable)

// read runs statements that change nothing, so they may always be repeated.
func (db *DB) read(ctx context.Context, f func(*conn) error) error { return db.alone(ctx, f) }

// acquire waits for a connection and returns a function that releases it. Requests from one site have at most half of
// the connections at a time, and waiting sites take turns, so that no site keeps the others waiting. The server's own
// work does not wait for turns.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, func(), error) {
	leave := func() {}
	if site, requested := host.SiteOf(ctx); requested {
		var err error
		if leave, err = db.turns.Take(ctx, strconv.FormatInt(site, 10)); err != nil {
			return nil, nil, fmt.Errorf("wait for a database connection: %w", err)
		}
	}
	c, err := db.pool.Acquire(ctx)
	if err != nil {
		leave()
		return nil, nil, translated(ctx, err)
	}
	return c, func() { c.Release(); leave() }, nil
}

// alone runs statements, each in a separate transaction. All statements may be repeated when their outcome is unknown:
// f explains why if it changes something.
func (db *DB) alone(ctx context.Context, f func(*conn) error) error {
	return db.repeat(ctx, func(ctx context.Context) error {
		if db.isClosed() {
			return errClosed
		}
		c, release, err := db.acquire(ctx)
		if err != nil {
			return err
		}
		defer release()
		x := db.connTo(ctx, c)
		if err := f(x); err != nil {
			return err
		}
		db.wake(x)
		return nil
	})
}

// write commits a change once. It calls run again after a rollback, so run must set its results again each time. When
// the connection breaks during the commit, write asks PostgreSQL whether the transaction's mark is there (see
// marks.go): no change is lost or made twice, whatever the change does.
func (db *DB) write(ctx context.Context, run func(*conn) error) error {
	return db.repeat(ctx, func(ctx context.Context) error {
		if db.isClosed() {
			return errClosed
		}
		unanswered, err := db.transact(ctx, run)
		if unanswered == nil {
			return err
		}
		return db.settle(ctx, *unanswered, err)
	})
}

// transact runs a transaction. It returns the mark of a transaction whose commit was requested but not answered.
func (db *DB) transact(ctx context.Context, run func(*conn) error) (unanswered *mark, err error) {
	held, release, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release() // the pool closes a connection that is in a transaction, and PostgreSQL rolls that back
	m := db.marks.take()
	if err := db.begin(ctx, held, m); err != nil {
		return nil, err
	}
	x := db.connTo(ctx, held)
	// A caller that leaves now must not leave the outcome in doubt.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTime)
	defer cancel()
	if err := run(x); err != nil {
		if _, open := held.Exec(last, "ROLLBACK"); open == nil { // otherwise the connection is closed, and the server may notice later
			db.marks.release(m)
		}
		return nil, err
	}
	tag, err := held.Exec(last, "COMMIT")
	if err != nil && (code(err) == "" || passes(code(err))) {
		return &m, translated(last, err)
	}
	db.marks.release(m)
	switch {
	case err != nil:
		return nil, translated(last, err) // a refusal: it is rolled back
	case tag.String() != "COMMIT":
		return nil, fmt.Errorf("%w: the transaction was rolled back", host.ErrUnavailable)
	}
	db.wake(x)
	return nil, nil
}

// begin begins a transaction with its mark.
func (db *DB) begin(ctx context.Context, held *pgxpool.Conn, m mark) error {
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED") // all statements here are written for this isolation level
	known, now := db.timeline.Load(), int64(0)
	sql := db.connTo(ctx, held).finished(setMark)
	if known == 0 {
		b.Queue(sql, m.slot, m.number)
	} else {
		b.Queue(sql+", "+timeline, m.slot, m.number).QueryRow(func(r pgx.Row) error {
			var limit string
			return r.Scan(&limit, &now)
		})
	}
	if err := held.SendBatch(ctx, b).Close(); err != nil {
		return translated(ctx, err)
	}
	if now == known {
		return nil
	}
	// The pooler is connected to a server that has taken over.
	if _, err := held.Exec(ctx, "ROLLBACK"); err != nil {
		return translated(ctx, err)
	}
	db.marks.release(m)
	if err := db.follow(ctx, held.Conn()); err != nil {
		return err
	}
	return fmt.Errorf("%w: another database server took over", host.ErrUnavailable)
}
