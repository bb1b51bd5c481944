package notice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	Channels []Channel
	Routes   []Route
	GiveUp   time.Duration // how long a notice is retried: 24 h
	Observer host.Observer // optional
	Logger   *slog.Logger
}

// Outbox stores notices and delivers them until they arrive. It is a host.Keeper. Each process that shares a store may
// have an Outbox; only one process at a time delivers a notice.
type Outbox struct {
	store  host.Outbox
	o      OutboxOptions
	lanes  map[string]*lane // by channel name
	routes []Route          // by name
}

// Times of an Outbox.
const (
	defaultGiveUp = 24 * time.Hour
	longestWait   = time.Hour
	lookEvery     = 5 * time.Second      // for notices from other processes and from earlier ones
	tryTime       = 90 * time.Second     // limit of one try
	claimTime     = 2 * time.Minute      // after which another process tries again if this one has ended
	lastTime      = 5 * time.Second      // for notices that are due when the process ends
	keepGivenUp   = 30 * 24 * time.Hour  // after which a notice that was given up on is removed
	keepGroups    = 30 * 24 * time.Hour  // after which a group is removed
	keepTroubles  = 400 * 24 * time.Hour // after which a group that waits for a recovery is removed: some workflows run once a year
	sweepEvery    = time.Hour
)

// NewOutbox returns an Outbox, which delivers while Run runs.
func NewOutbox(store host.Outbox, o OutboxOptions) *Outbox {
	o.Options = o.withDefaults()
	o.GiveUp = cmp.Or(o.GiveUp, defaultGiveUp)
	if o.Observer == nil {
		o.Observer = host.Unobserved{}
	}
	b := &Outbox{store: store, o: o, lanes: map[string]*lane{}, routes: slices.Clone(o.Routes)}
	slices.SortFunc(b.routes, func(x, y Route) int { return cmp.Compare(x.Name, y.Name) })
	for _, c := range o.Channels {
		b.lanes[c.Name] = &lane{outbox: b, channel: c, wake: make(chan struct{}, 1)}
	}
	return b
}

// Keep implements host.Keeper. It does nothing if no route matches the notice.
func (b *Outbox) Keep(ctx context.Context, n host.Notice, key string) error {
	now := b.o.Now().UTC()
	event := fmt.Sprintf("%s/%x", key, sha256.Sum256([]byte(n.Message)))[:len(key)+17]
	var batches []host.NoticeBatch
	var body []byte
	for _, r := range b.routes {
		if !r.Matches(n) {
			continue
		}
		if body == nil {
			body = param.AppendJSON(nil, b.o.fields(n))
		}
		batches = append(batches, host.NoticeBatch{Event: event, Group: r.group(n, body, now), Notices: b.deliveries(n, event, body, r.Channels)})
	}
	if len(batches) == 0 {
		return nil
	}
	// Groups are locked in the order of their keys: the same order in all processes prevents deadlocks.
	slices.SortStableFunc(batches, func(x, y host.NoticeBatch) int { return cmp.Compare(x.Group.Key, y.Group.Key) })
	if err := b.store.PutNotices(ctx, now, batches...); err != nil {
		return fmt.Errorf("store notification: %w", err)
	}
	b.wake(batches...)
	return nil
}

// deliveries returns the rows to store for a notice, one for each channel.
func (b *Outbox) deliveries(n host.Notice, event string, body []byte, channels []string) (list []host.StoredNotice) {
	now, a := b.o.Now().UTC(), &n.Attempt
	for _, c := range channels {
		list = append(list, host.StoredNotice{Key: event + "/" + c, Channel: c, Kind: n.Kind, Site: a.Site, Attempt: a.ID, Project: a.Project.Name, Workflow: a.Workflow.Name,
			Message: engine.Shortened(n.Message), Body: body, CreatedAt: now, Since: now, Due: now})
	}
	return list
}

// wake makes channels check for notices that were just stored.
func (b *Outbox) wake(batches ...host.NoticeBatch) {
	for _, batch := range batches {
		for _, n := range batch.Notices {
			if l := b.lanes[n.Channel]; l != nil {
				l.hurry()
			}
		}
	}
}

// mostConflicts is how many times Succeeded rereads a workflow's groups because they have changed.
const mostConflicts = 5

// Succeeded implements host.Keeper: if the failure of the workflow was reported on a route that also reports
// recoveries, it ends the groups about this failure and notifies the route's channels.
func (b *Outbox) Succeeded(ctx context.Context, a host.Attempt) error {
	n := host.Notice{Kind: host.NoticeRecovered, Message: "Workflow succeeded again", Attempt: a}
	recovering := b.names(Route.recovers)
	if len(recovering) == 0 {
		return nil // nothing needs to be read
	}
	for try := 1; ; try++ {
		groups, err := b.store.NoticeGroups(ctx, host.GroupQuery{Site: a.Site, Project: a.Project.Name, Workflow: a.Workflow.Name, Routes: recovering})
		if err != nil {
			return fmt.Errorf("read notification groups: %w", err)
		}
		// The tags of the workflow are not needed: a group exists only on routes that matched its failure.
		groups = slices.DeleteFunc(groups, func(g host.NoticeGroup) bool { return !heals(g.Kind) })
		if len(groups) == 0 {
			return nil
		}
		batch := host.NoticeBatch{Notices: b.recovery(n, groups)}
		err = b.store.EndQuiet(ctx, groups, time.Time{}, batch.Notices...)
		switch {
		case err == nil:
			b.wake(batch)
			return nil
		case !errors.Is(err, host.ErrConflict) || try == mostConflicts:
			return fmt.Errorf("store notification: %w", err)
		}
	}
}

// names lists the routes that are selected.
func (b *Outbox) names(selected func(Route) bool) (list []string) {
	for _, r := range b.routes {
		if selected(r) {
			list = append(list, r.Name)
		}
	}
	return list
}

func (b *Outbox) route(name string) (Route, bool) {
	i := slices.IndexFunc(b.routes, func(r Route) bool { return r.Name == name })
	if i < 0 {
		return Route{}, false
	}
	return b.routes[i], true
}

// recovery returns the notices that the trouble in these groups has ended.
func (b *Outbox) recovery(n host.Notice, groups []host.NoticeGroup) []host.StoredNotice {
	seen := map[string]int{} // by route: several routes count the same notices
	var channels []string
	for _, g := range groups {
		seen[g.Route] += g.Seen
		r, _ := b.route(g.Route)
		channels = append(channels, r.Channels...)
	}
	slices.Sort(channels)
	fields, most := b.o.fields(n), 0
	for _, count := range seen {
		most = max(most, count)
	}
	fields.Set("failures", int64(most))
	return b.deliveries(n, fmt.Sprintf("%d/recovered", n.Attempt.ID), param.AppendJSON(nil, fields), slices.Compact(channels))
}

// Run delivers notices until ctx ends, and then delivers the notices that are due, within a few seconds. Each channel
// has a separate loop, so that a dead receiver does not delay the others.
func (b *Outbox) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range b.lanes {
		all.Go(func() { l.run(ctx) })
	}
	var swept time.Time
	for ctx.Err() == nil {
		if now := b.o.Now(); now.Sub(swept).Abs() >= sweepEvery {
			swept = now
			b.report(ctx, "remove old notifications", b.dropOld(ctx, now))
			b.report(ctx, "give up summaries of removed routes", b.giveUpSummaries(ctx))
			b.report(ctx, "give up notifications of removed channels", b.giveUpOrphans(ctx))
		}
		b.report(ctx, "summarize notifications", b.summarize(ctx))
		timer := time.NewTimer(lookEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	all.Wait()
}

// report logs an error unless the process ends.
func (b *Outbox) report(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		b.o.Logger.Error(doing, "error", err)
	}
}

// dropOld removes old notices and groups. A group that may wait for a recovery stays longer than others, even if its
// route is known only to another server.
func (b *Outbox) dropOld(ctx context.Context, now time.Time) error {
	errs := []error{b.store.DropNotices(ctx, now.Add(-keepGivenUp)), b.store.DropGroups(ctx, now.Add(-keepTroubles), nil, nil),
		b.store.DropGroups(ctx, now.Add(-keepGroups), slices.DeleteFunc(host.NoticeKinds(), heals), nil)}
	if final := b.names(func(r Route) bool { return !r.recovers() }); len(final) > 0 {
		errs = append(errs, b.store.DropGroups(ctx, now.Add(-keepGroups), nil, final))
	}
	return errors.Join(errs...)
}

// every selects all routes.
func every(Route) bool { return true }

// mostSummaries is how many groups one pass summarizes.
const mostSummaries = 100

// summarize sends a summary of the unsent notices of each group whose quiet time has passed, and begins another quiet
// time. It leaves groups whose routes this server does not have to other servers.
func (b *Outbox) summarize(ctx context.Context) error {
	if len(b.routes) == 0 {
		return nil
	}
	now := b.o.Now().UTC()
	groups, err := b.store.NoticeGroups(ctx, host.GroupQuery{Site: host.AnySite, Due: now, Routes: b.names(every), Count: mostSummaries})
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range groups {
		r, _ := b.route(g.Route)
		batch := host.NoticeBatch{}
		if batch.Notices, err = b.summary(g, r.Channels); err != nil {
			errs = append(errs, err)
			continue
		}
		switch err := b.store.EndQuiet(ctx, []host.NoticeGroup{g}, now.Add(r.Quiet), batch.Notices...); {
		case err == nil:
			b.wake(batch)
		case !errors.Is(err, host.ErrConflict): // otherwise another process was faster, or another notice was counted
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// summary returns a group's newest notice with the number of notices that were not sent.
func (b *Outbox) summary(g host.NoticeGroup, channels []string) ([]host.StoredNotice, error) {
	fields, err := stored(g.Body)
	if err != nil {
		return nil, err
	}
	n := host.Notice{Kind: g.Kind, Message: fmt.Sprintf("%d more: %s", g.Unsent, text(fields, "message")), Attempt: host.Attempt{Site: g.Site, Project: host.Ref{Name: g.Project}, Workflow: host.Ref{Name: g.Workflow}}}
	if id, _ := fields.Get("attempt_id"); id != nil {
		n.Attempt.ID, _ = id.(int64)
	}
	fields.Set("message", n.Message)
	fields.Set("more", int64(g.Unsent))
	// A group that begins again after a recovery has the same key, and counts from 1 again.
	return b.deliveries(n, fmt.Sprintf("%s/%d/%s", g.Key, g.Seen, g.Last), param.AppendJSON(nil, fields), channels), nil
}

// giveUpSummaries forgets the counted notices of routes that this server does not have, once another server that may
// have them has had the time to send a summary. A recovery can still be reported.
func (b *Outbox) giveUpSummaries(ctx context.Context) error {
	now := b.o.Now().UTC()
	for {
		groups, err := b.store.NoticeGroups(ctx, host.GroupQuery{Site: host.AnySite, Due: now.Add(-b.o.GiveUp), Without: b.names(every), Count: mostSummaries})
		if err != nil {
			return err
		}
		for _, g := range groups {
			switch err := b.store.EndQuiet(ctx, []host.NoticeGroup{g}, now); {
			case err == nil:
				b.o.Logger.Warn("counted notifications given up: their route is no longer configured", "route", g.Route, "count", g.Unsent, "project", g.Project, "workflow", g.Workflow)
				b.o.Observer.NoticeLost(host.Attempt{Site: g.Site, Project: host.Ref{Name: g.Project}, Workflow: host.Ref{Name: g.Workflow}})
			case !errors.Is(err, host.ErrConflict): // otherwise another process was faster
				return err
			}
		}
		if len(groups) < mostSummaries {
			return nil
		}
	}
}

// orphanPage is how many notices giveUpOrphans reads at a time.
const orphanPage = 500

// giveUpOrphans marks notices for channels that this server does not have. They stay visible, with the reason, and
// another server on the database, or this one after a change of its configuration, may deliver them until they are
// given up on.
func (b *Outbox) giveUpOrphans(ctx context.Context) error {
	q := host.NoticeQuery{Site: host.AnySite, Waiting: true, Count: orphanPage}
	for {
		list, err := b.store.Notices(ctx, q)
		if err != nil {
			return err
		}
		for _, n := range list {
			q.After = n.ID
			if b.lanes[n.Channel] != nil {
				continue
			}
			n.Error = fmt.Sprintf("the channel %s is no longer configured", n.Channel)
			lost := b.o.Now().Sub(n.Since) >= b.o.GiveUp
			if lost {
				n.Due, n.GivenUpAt = time.Time{}, b.o.Now().UTC()
			}
			if err := b.store.UpdateNotice(ctx, n, n.Tries); err != nil && !errors.Is(err, host.ErrConflict) {
				return err
			} else if err == nil && lost {
				b.lost(n)
			}
		}
		if len(list) < orphanPage {
			return nil
		}
	}
}

// lost reports that a notice was given up on.
func (b *Outbox) lost(n host.StoredNotice) {
	b.o.Logger.Warn("notification given up: `zerodag admin notices retry` sends it again", line(n)...)
	b.o.Observer.NoticeLost(host.Attempt{ID: n.Attempt, Site: n.Site, Project: host.Ref{Name: n.Project}, Workflow: host.Ref{Name: n.Workflow}})
}

func line(n host.StoredNotice) []any {
	return []any{"notification", n.ID, "channel", n.Channel, "attempt", n.Attempt, "project", n.Project, "workflow", n.Workflow, "message", n.Message, "tries", n.Tries, "error", n.Error}
}

// stored returns a stored notice's fields.
func stored(body []byte) (*param.Map, error) {
	v, err := param.ParseJSON(string(body))
	if err != nil {
		return nil, fmt.Errorf("read stored notification: %w", err)
	}
	fields, isMap := v.(*param.Map)
	if !isMap {
		return nil, errors.New("read stored notification: it is not an object")
	}
	return fields, nil
}

func text(fields *param.Map, key string) string {
	v, _ := fields.Get(key)
	s, _ := v.(string)
	return s
}
