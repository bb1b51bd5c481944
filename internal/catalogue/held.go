package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"zerodag/internal/host"
)

// held remembers the schedules that this process has put off because their site had too many unfinished attempts. If
// the process ends, they fire at the time that they were postponed to.
type held struct {
	mu   sync.Mutex
	list map[int64]host.Schedule // by id, as they were put off
}

// put records a schedule and reports whether it was not already waiting.
func (h *held) put(s host.Schedule) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = map[int64]host.Schedule{}
	}
	before := len(h.list)
	h.list[s.ID] = s
	return len(h.list) > before
}

// forget forgets a schedule.
func (h *held) forget(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.list, id)
}

// bySite returns each site's schedules, in the order in which their sessions were due.
func (h *held) bySite() map[int64][]host.Schedule {
	h.mu.Lock()
	defer h.mu.Unlock()
	sites := map[int64][]host.Schedule{}
	for _, s := range slices.SortedFunc(maps.Values(h.list), func(a, b host.Schedule) int {
		return cmp.Or(a.Times.Session.Compare(b.Times.Session), cmp.Compare(a.ID, b.ID))
	}) {
		sites[s.Site] = append(sites[s.Site], s)
	}
	return sites
}

// FireHeld fires the schedules that this process has put off because of the limit on unfinished attempts, as soon as
// there is room for them, so that they do not have to wait until the time to which they were put off. A schedule that
// was moved, disabled or fired meanwhile stays unchanged.
func (c scheduling) FireHeld(ctx context.Context) error {
	for site, list := range c.held.bySite() {
		active, err := c.o.Sessions.CountActive(ctx, site, c.o.Limits.Attempts)
		if err != nil {
			return fmt.Errorf("count attempts: %w", err)
		}
		for _, s := range list[:min(len(list), max(0, c.o.Limits.Attempts-active))] {
			if err := c.fireAgain(ctx, s); err != nil {
				return fmt.Errorf("schedule %d: %w", s.ID, err)
			}
		}
	}
	return nil
}

// fireAgain fires a schedule that was put off, if it still has the times to which it was put off.
func (c scheduling) fireAgain(ctx context.Context, put host.Schedule) error {
	now, err := c.o.Schedules.Schedule(ctx, put.Site, put.ID)
	gone := errors.Is(err, host.ErrNotFound)
	if err != nil && !gone {
		return fmt.Errorf("read: %w", err)
	}
	if gone || !now.DisabledAt.IsZero() || !now.Times.Run.Equal(put.Times.Run) || !now.Times.Session.Equal(put.Times.Session) {
		c.held.forget(put.ID)
		return nil
	}
	if err := c.fire(ctx, now); err != nil && !errors.Is(err, host.ErrConflict) && !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return nil
}
