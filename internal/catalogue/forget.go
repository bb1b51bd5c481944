package catalogue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zerodag/internal/host"
)

// Forget removes sessions that have been over for longer than attempts are kept, of one part of the attempts
// with ids above after. next is up to which it came, over that there are no more. An error is about single
// sessions, which the next round looks at again, or about the store.
func (c lifecycle) Forget(ctx context.Context, after int64) (next int64, over bool, err error) {
	if c.o.Limits.KeepAttempts <= 0 || c.o.Retention == nil {
		return 0, true, nil
	}
	if after == 0 {
		if err := c.o.Retention.Clear(ctx); err != nil {
			return 0, false, fmt.Errorf("clear what is left of old attempts: %w", err)
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
	if ctx.Err() != nil { // of this part some were not looked at
		return after, false, errors.Join(wrong...)
	}
	if len(list) < atOnce {
		return 0, true, errors.Join(wrong...)
	}
	return list[len(list)-1].ID, false, errors.Join(wrong...)
}

// overBefore is when what goes was over at the latest. What ended during the life of an unfinished attempt
// stays, however long ago that is: the attempt may wait for it by `require>` and not have asked since.
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

// forgetEvery is how often a server begins anew with looking for what is old.
const forgetEvery = time.Hour

// forgetSome is one part of that, when its time has come.
func (c lifecycle) forgetSome(ctx context.Context) error {
	f := &c.forgetting
	f.Lock()
	defer f.Unlock()
	now := c.o.Now()
	if now.Before(f.begin) {
		return nil
	}
	next, over, err := c.Forget(ctx, f.after)
	if f.after = next; over {
		f.after, f.begin = 0, now.Add(forgetEvery)
	}
	return err
}
