package notice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
	"zerodag/internal/host"
)

// OutboxOptions configures an Outbox.
type OutboxOptions struct {
	// Options limits the first retries: after Retries retries, the wait grows up to longestWait.
	Options
	GiveUp   time.Duration // how long a notice is retried: 24 h
	Observer host.Observer // optional
	Logger   *slog.Logger
}

// Outbox stores notices and delivers them until they arrive. It is a host.Keeper. Processes that share a store may each
// have an Outbox: only one process delivers a notice at a time.
type Outbox struct {
	store  host.Outbox
	sender Sender
	o      OutboxOptions
	wake   chan struct{}
}

// Times of an Outbox.
const (
	defaultGiveUp = 24 * time.Hour
	longestWait   = time.Hour
	lookEvery     = 5 * time.Second     // for notices of other processes, and of earlier ones
	tryTime       = 90 * time.Second    // limit of one try
	claimTime     = 2 * time.Minute     // after which another process tries again if this one has ended
	lastTime      = 5 * time.Second     // for notices that are due when the process ends
	keepGivenUp   = 30 * 24 * time.Hour // after which a notice that was given up is removed
	sweepEvery    = time.Hour
	atOnce        = 16 // tries
)

// NewOutbox returns an Outbox, which delivers while Run runs.
func NewOutbox(store host.Outbox, s Sender, o OutboxOptions) *Outbox {
	o.Options = o.withDefaults()
	o.GiveUp = cmp.Or(o.GiveUp, defaultGiveUp)
	if o.Observer == nil {
		o.Observer = host.Unobserved{}
	}
	return &Outbox{store, s, o, make(chan struct{}, 1)}
}

// Keep implements host.Keeper.
func (b *Outbox) Keep(ctx context.Context, n host.Notice, key string) error {
	now := b.o.Now().UTC()
	a := &n.Attempt
	err := b.store.PutNotice(ctx, host.StoredNotice{Key: fmt.Sprintf("%s/%x", key, sha256.Sum256([]byte(n.Message)))[:len(key)+17], Site: a.Site, Attempt: a.ID,
		Project: a.Project.Name, Workflow: a.Workflow.Name, Message: engine.Shortened(n.Message), Body: param.AppendJSON(nil, b.o.fields(n)), CreatedAt: now, Since: now, Due: now})
	if err != nil {
		return fmt.Errorf("store notification: %w", err)
	}
	select {
	case b.wake <- struct{}{}:
	default: // a pass is about to begin
	}
	return nil
}

// Run delivers notices until ctx ends, and then delivers the notices that are due, within a few seconds.
func (b *Outbox) Run(ctx context.Context) {
	var swept time.Time
	for ctx.Err() == nil {
		if now := b.o.Now(); now.Sub(swept).Abs() >= sweepEvery {
			swept = now
			b.report(ctx, "remove old notifications", b.store.DropNotices(ctx, now.Add(-keepGivenUp)))
		}
		all, err := b.pass(ctx)
		b.report(ctx, "deliver notifications", err)
		if err == nil && !all {
			continue // there may be more
		}
		timer := time.NewTimer(lookEvery)
		select {
		case <-b.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer stop()
	_, err := b.pass(ctx)
	b.report(ctx, "deliver notifications", err)
}

// report logs an error unless the process ends.
func (b *Outbox) report(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		b.o.Logger.Error(doing, "error", err)
	}
}

// pass tries to deliver the notices that are due. It reports whether it has seen all due notices.
func (b *Outbox) pass(ctx context.Context) (all bool, err error) {
	list, err := b.store.DueNotices(ctx, b.o.Now(), atOnce)
	if err != nil {
		return false, err
	}
	var tries sync.WaitGroup
	errs := make([]error, len(list))
	for i, n := range list {
		tries.Go(func() { errs[i] = b.try(ctx, n) })
	}
	tries.Wait()
	return len(list) < atOnce, errors.Join(errs...)
}

// try tries once to deliver a notice. It first postpones the notice, so that no other process tries in the meantime,
// and a later one does if this process ends.
func (b *Outbox) try(ctx context.Context, n host.StoredNotice) error {
	n.Tries++
	n.Due = b.o.Now().Add(claimTime).UTC()
	err := b.store.UpdateNotice(ctx, n, n.Tries-1)
	if errors.Is(err, host.ErrConflict) {
		return nil // another process tries
	}
	if err != nil {
		return err
	}
	sent := host.Recover(b.o.Logger, fmt.Sprintf("notification %d", n.ID), func() error { return b.send(ctx, n) })
	ended := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	if sent == nil {
		return b.store.DeleteNotice(ctx, n.ID)
	}
	now := b.o.Now().UTC()
	n.Error = engine.Shortened(sent.Error())
	lost := false
	switch {
	case ended: // that was not the receiver's fault
		n.Due = now
	case now.Sub(n.Since) >= b.o.GiveUp:
		n.Due, n.GivenUpAt, lost = time.Time{}, now, true
	default:
		n.Due = now.Add(b.o.wait(n.Tries))
	}
	if err := b.store.UpdateNotice(ctx, n, n.Tries); err != nil {
		if errors.Is(err, host.ErrConflict) {
			return nil // a user has sent it again
		}
		return err
	}
	line := []any{"notification", n.ID, "attempt", n.Attempt, "project", n.Project, "workflow", n.Workflow, "message", n.Message, "tries", n.Tries, "error", n.Error}
	switch {
	case lost:
		b.o.Logger.Warn("notification given up: `zerodag admin notices retry` sends it again", line...)
		b.o.Observer.NoticeLost(host.Attempt{ID: n.Attempt, Site: n.Site, Project: host.Ref{Name: n.Project}, Workflow: host.Ref{Name: n.Workflow}})
	case n.Tries == 1:
		b.o.Logger.Warn("notification not delivered, will be retried", line...)
	}
	return nil
}

func (b *Outbox) send(ctx context.Context, n host.StoredNotice) error {
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	v, err := param.ParseJSON(string(n.Body))
	if err != nil {
		return fmt.Errorf("read stored notification: %w", err)
	}
	fields, isMap := v.(*param.Map)
	if !isMap {
		return errors.New("read stored notification: it is not an object")
	}
	return b.sender.Send(ctx, fields)
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
