package catalogue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Forget reads one batch of attempts with ids above after and removes sessions that ended longer ago than the retention
// time for attempts. next is the last id that it reached; over means that there are no more. An error concerns either
// single sessions, which the next sweep checks again, or the store.
func (c lifecycle) Forget(ctx context.Context, after int64) (next int64, over bool, err error) {
	if c.o.Limits.KeepAttempts <= 0 || c.o.Retention == nil {
		return 0, true, nil
	}
	if after == 0 {
		if err := c.o.Retention.Clear(ctx); err != nil {
			return 0, false, fmt.Errorf("remove the remains of old attempts: %w", err)
		}
	}
	before, err := c.overBefore(ctx)
	if err != nil {
		return after, false, err
	}
	list, err := c.o.Retention.Old(ctx, before, after, atOnce)
	if err != nil {
		return after, false, fmt.Errorf("read old attempts: %w", err)
	}
	wrong := each(c.o.Limits.Looks, list, func(a host.Attempt) error {
		if a.Index != 1 || !a.Done || !a.FinishedAt.Before(before) || ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := c.o.Retention.Forget(ctx, a.Site, a.SessionID, before, c.o.RemoveLogs); err != nil {
			return fmt.Errorf("remove session %d: %w", a.SessionID, err)
		}
		return nil
	})
	if ctx.Err() != nil { // some attempts in this batch were not checked
		return after, false, errors.Join(wrong...)
	}
	if len(list) < atOnce {
		return 0, true, errors.Join(append(wrong, c.forgetBackfills(ctx, before))...)
	}
	return list[len(list)-1].ID, false, errors.Join(wrong...)
}

// forgetBackfills removes backfills that ended before a given time, the time before which their attempts are removed.
func (c lifecycle) forgetBackfills(ctx context.Context, before time.Time) error {
	for c.o.Backfills != nil {
		n, err := c.o.Backfills.ForgetBackfills(ctx, before, recordsAtOnce)
		if err != nil {
			return fmt.Errorf("remove old backfills: %w", err)
		}
		if n < recordsAtOnce {
			break
		}
	}
	return nil
}

// overBefore returns the time before which a session must have ended to be removed. A session stays, no matter how long
// ago it ended, if an attempt that already existed then is still unfinished: the attempt may be waiting for it with
// `require>` and may not have polled since.
func (c lifecycle) overBefore(ctx context.Context) (time.Time, error) {
	before := c.o.Now().Add(-c.o.Limits.KeepAttempts)
	oldest, err := c.o.Sessions.Active(ctx, host.ActiveQuery{Site: host.AnySite, Count: 1})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the oldest unfinished attempt: %w", err)
	}
	if len(oldest) > 0 && oldest[0].CreatedAt.Before(before) {
		before = oldest[0].CreatedAt
	}
	return before, nil
}

// recordsAtOnce is how many audit log entries are deleted together.
const recordsAtOnce = 500

// ForgetRecords removes expired audit log entries until there are no more (over) or ctx ends. It has no position to
// continue from.
func (c lifecycle) ForgetRecords(ctx context.Context, _ int64) (next int64, over bool, err error) {
	if c.o.Limits.KeepRecords <= 0 || c.o.Retention == nil {
		return 0, true, nil
	}
	before := c.o.Now().Add(-c.o.Limits.KeepRecords)
	for {
		n, err := c.o.Retention.ForgetRecords(ctx, before, recordsAtOnce)
		if err != nil {
			return 0, false, fmt.Errorf("remove old entries of the audit log: %w", err)
		}
		if n < recordsAtOnce {
			return 0, true, nil
		}
	}
}

// forgetLogs reads one batch of attempts with ids above after and removes the task logs of attempts that ended longer
// ago than logs are kept, unless logs expire automatically. At the end, next is where the next sweep begins: before the
// first attempt whose logs were kept.
func (c lifecycle) forgetLogs(ctx context.Context, after int64) (next int64, over bool, err error) {
	if c.o.Limits.KeepLogs <= 0 || c.o.Retention == nil || c.o.RemoveLogs == nil {
		return 0, true, nil
	}
	before := c.o.Now().Add(-c.o.Limits.KeepLogs)
	list, err := c.o.Retention.Old(ctx, before, after, atOnce)
	if err != nil {
		return after, false, fmt.Errorf("read old attempts: %w", err)
	}
	f := &c.forgetting
	var old []host.Attempt
	for _, a := range list {
		if a.Done && a.FinishedAt.Before(before) {
			old = append(old, a)
		} else if f.stayed == 0 {
			f.stayed = a.ID
		}
		after = a.ID
	}
	if err := c.o.RemoveLogs(ctx, old); err != nil {
		f.stayed = 0
		return 0, true, fmt.Errorf("remove old logs: %w", err) // the next sweep reads all of these attempts again
	}
	if len(list) == atOnce {
		return after, false, nil
	}
	if f.stayed > 0 {
		after = f.stayed - 1
	}
	f.stayed = 0
	return after, true, nil
}

// logsGone reports whether an attempt's logs have been removed because of their age, or are about to be.
func (c *stores) logsGone(a host.Attempt) bool {
	keep := c.o.Limits.KeepLogs
	return keep > 0 && a.Done && a.FinishedAt.Before(c.o.Now().Add(-keep))
}

// forgetEvery is how often a server starts a new search for old data.
const forgetEvery = time.Hour

// forgetting is a server's progress in removing old data.
type forgetting struct {
	sync.Mutex
	rounds [4]struct {
		after int64     // the last attempt that this sweep has reached
		begin time.Time // of the next sweep
	}
	stayed int64 // the first attempt of this sweep whose logs were kept; 0: none
}

// forgetSome removes one batch of each kind of old data that is due.
func (c lifecycle) forgetSome(ctx context.Context) error {
	f := &c.forgetting
	f.Lock()
	defer f.Unlock()
	now := c.o.Now()
	var failed []error
	for i, do := range []func(context.Context, int64) (int64, bool, error){c.Forget, c.ForgetArchives, c.ForgetRecords, c.forgetLogs} {
		r := &f.rounds[i]
		if now.Before(r.begin) {
			continue
		}
		next, over, err := do(ctx, r.after)
		if r.after = next; over {
			r.begin = now.Add(forgetEvery)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
