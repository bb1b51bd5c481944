package notice

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// lane delivers one channel's notices.
type lane struct {
	outbox  *Outbox
	channel Channel
	wake    chan struct{}

	mu   sync.Mutex
	rest time.Time // the receiver accepts no notices until this time
}

// Limits on one pass over the due notices.
const (
	atOnce      = 16  // deliveries at a time on an unordered channel
	mostOrdered = 500 // notices in a pass over an ordered channel
)

// hurry makes the lane check for notices now.
func (l *lane) hurry() {
	select {
	case l.wake <- struct{}{}:
	default: // it is about to check anyway
	}
}

func (l *lane) run(ctx context.Context) {
	const doing = "deliver notifications"
	for ctx.Err() == nil {
		all, err := l.pass(ctx)
		l.outbox.report(ctx, doing, err)
		if err == nil && !all {
			continue // there may be more
		}
		timer := time.NewTimer(lookEvery)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer stop()
	_, err := l.pass(ctx)
	l.outbox.report(ctx, doing, err)
}

// pass tries to deliver the notices that are due. It reports whether it has seen all due notices.
func (l *lane) pass(ctx context.Context) (all bool, err error) {
	switch {
	case l.resting():
		return true, nil
	case l.channel.Ordered:
		return true, l.inOrder(ctx)
	}
	list, err := l.outbox.store.DueNotices(ctx, l.channel.Name, l.outbox.o.Now(), atOnce)
	if err != nil {
		return false, err
	}
	var tries sync.WaitGroup
	errs := make([]error, len(list))
	for i, n := range list {
		tries.Go(func() { _, errs[i] = l.try(ctx, n) })
	}
	tries.Wait()
	return len(list) < atOnce, errors.Join(errs...)
}

// inOrder tries to deliver the first notice of each workflow, and the following ones once it has been delivered.
func (l *lane) inOrder(ctx context.Context) error {
	list, err := l.outbox.store.Notices(ctx, host.NoticeQuery{Site: host.AnySite, Channel: l.channel.Name, Waiting: true, Count: mostOrdered})
	if err != nil {
		return err
	}
	type workflow struct {
		site          int64
		project, name string
	}
	held := map[workflow]bool{}
	var errs []error
	for _, n := range list {
		w := workflow{n.Site, n.Project, n.Workflow}
		if held[w] || l.resting() || ctx.Err() != nil {
			continue
		}
		delivered := false
		if !n.Due.After(l.outbox.o.Now()) {
			delivered, err = l.try(ctx, n)
			errs = append(errs, err)
		}
		held[w] = !delivered
	}
	return errors.Join(errs...)
}

// try tries once to deliver a notice, and reports whether it was delivered. It first postpones the notice, so that no
// other process tries it in the meantime, but a later process does if this one ends.
func (l *lane) try(ctx context.Context, n host.StoredNotice) (delivered bool, err error) {
	b := l.outbox
	n.Tries++
	n.Due = b.o.Now().Add(claimTime).UTC()
	err = b.store.UpdateNotice(ctx, n, n.Tries-1)
	if errors.Is(err, host.ErrConflict) {
		return false, nil // another process tries
	}
	if err != nil {
		return false, err
	}
	sent := host.Recover(b.o.Logger, fmt.Sprintf("notification %d", n.ID), func() error { return l.send(ctx, n) })
	ended := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	if sent == nil {
		if err := b.store.DeleteNotice(ctx, n.ID); err != nil {
			return true, err
		}
		return true, b.store.NoteDelivery(ctx, l.channel.Name, "", b.o.Now().UTC())
	}
	return false, l.postpone(ctx, n, sent, ended)
}

// postpone records that a try has failed; ended means that this process is ending.
func (l *lane) postpone(ctx context.Context, n host.StoredNotice, sent error, ended bool) error {
	b := l.outbox
	now := b.o.Now().UTC()
	n.Error = engine.Shortened(sent.Error())
	lost := false
	switch {
	case ended: // that was not the receiver's fault
		n.Due = now
	case now.Sub(n.Since) >= b.o.GiveUp:
		n.Due, n.GivenUpAt, lost = time.Time{}, now, true
	default:
		n.Due = now.Add(l.wait(n.Tries, sent))
	}
	if err := b.store.UpdateNotice(ctx, n, n.Tries); err != nil {
		if errors.Is(err, host.ErrConflict) {
			return nil // a user has resent it
		}
		return err
	}
	switch {
	case lost:
		b.lost(n)
	case n.Tries == 1:
		b.o.Logger.Warn("notification not delivered, will be retried", line(n)...)
	}
	if ended {
		return nil
	}
	return b.store.NoteDelivery(ctx, l.channel.Name, n.Error, now)
}

func (l *lane) send(ctx context.Context, n host.StoredNotice) error {
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	fields, err := stored(n.Body)
	if err != nil {
		return err
	}
	_, err = l.channel.Sender.Send(ctx, fields)
	return err
}

// wait returns how long to wait after a number of failed tries. If the receiver demands a pause, the whole channel
// pauses.
func (l *lane) wait(tries int, failed error) time.Duration {
	usual := l.outbox.o.wait(tries)
	var refused *Refusal
	switch {
	case !errors.As(failed, &refused):
		return usual
	case refused.Permanent:
		return longestWait
	case refused.After > 0:
		after := min(refused.After, longestWait)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rest = l.outbox.o.Now().Add(after)
		return after
	}
	return usual
}

func (l *lane) resting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outbox.o.Now().Before(l.rest)
}

// wait returns how long to wait after a number of failed tries.
func (o Options) wait(tries int) time.Duration {
	grown := func(d time.Duration, times int, most time.Duration) time.Duration {
		return min(d<<min(times, 20), most)
	}
	if tries <= o.Retries {
		return grown(o.Shortest, tries-1, o.Longest)
	}
	return max(o.Longest, grown(o.Longest, tries-o.Retries, longestWait))
}
