package notice_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"zerodag/internal/host"
)

// memory is a host.Outbox that is lost with the process.
type memory struct {
	mu       sync.Mutex
	last     int64
	list     []host.StoredNotice // ascending by id
	groups   map[string]host.NoticeGroup
	channels map[string]host.ChannelDelivery
}

func newMemory() *memory {
	return &memory{groups: map[string]host.NoticeGroup{}, channels: map[string]host.ChannelDelivery{}}
}

func (m *memory) PutNotices(_ context.Context, at time.Time, batches ...host.NoticeBatch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range batches {
		if b.Group.Key == "" || m.join(at, b) {
			m.put(b.Notices)
		}
	}
	return nil
}

func (m *memory) join(at time.Time, b host.NoticeBatch) bool {
	g, there := m.groups[b.Group.Key]
	if there && g.Last == b.Event {
		return false
	}
	quiet := !b.Group.Until.IsZero()
	if !quiet {
		b.Group.Until = at
	}
	if !there {
		g = b.Group
	}
	g.Seen++
	g.Last, g.Body = b.Event, b.Group.Body
	sends := !there || !quiet || g.Unsent == 0 && !g.Until.After(at)
	if sends {
		g.Until = b.Group.Until
	} else {
		g.Unsent++
	}
	m.groups[g.Key] = g
	return sends
}

func (m *memory) put(list []host.StoredNotice) {
	for _, n := range list {
		if !slices.ContainsFunc(m.list, func(x host.StoredNotice) bool { return x.Key == n.Key }) {
			m.last++
			n.ID = m.last
			m.list = append(m.list, n)
		}
	}
}

func (m *memory) Notices(_ context.Context, q host.NoticeQuery) (list []host.StoredNotice, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.list {
		fits := n.ID > q.After && (q.Site == host.AnySite || n.Site == q.Site) && (q.ID == 0 || n.ID == q.ID) && (q.Attempt == 0 || n.Attempt == q.Attempt) &&
			(q.Channel == "" || n.Channel == q.Channel) && (!q.GivenUp || !n.GivenUpAt.IsZero()) && (!q.Waiting || !n.Due.IsZero())
		if fits && (q.Count == 0 || len(list) < q.Count) {
			list = append(list, n)
		}
	}
	return list, nil
}

func (m *memory) DueNotices(_ context.Context, channel string, at time.Time, n int) ([]host.StoredNotice, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(m.list), func(n host.StoredNotice) bool { return n.Channel != channel || n.Due.IsZero() || n.Due.After(at) })
	slices.SortStableFunc(list, func(a, b host.StoredNotice) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return list[:min(n, len(list))], nil
}

func (m *memory) UpdateNotice(_ context.Context, n host.StoredNotice, tries int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.list, func(x host.StoredNotice) bool { return x.ID == n.ID && x.Tries == tries })
	if i < 0 {
		return host.ErrConflict
	}
	m.list[i] = n
	return nil
}

func (m *memory) DeleteNotice(_ context.Context, id int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(x host.StoredNotice) bool { return x.ID == id })
	return nil
}

func (m *memory) DropNotices(_ context.Context, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(x host.StoredNotice) bool { return !x.GivenUpAt.IsZero() && x.GivenUpAt.Before(before) })
	return nil
}

func (m *memory) DropGroups(_ context.Context, before time.Time, kinds []host.NoticeKind, routes []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.groups, func(_ string, g host.NoticeGroup) bool {
		return g.Unsent == 0 && g.Until.Before(before) && (len(kinds) == 0 || slices.Contains(kinds, g.Kind)) && (len(routes) == 0 || slices.Contains(routes, g.Route))
	})
	return nil
}

func (m *memory) NoticeGroups(_ context.Context, q host.GroupQuery) (list []host.NoticeGroup, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[key]
		fits := (q.Site == host.AnySite || g.Site == q.Site) && (q.Workflow == "" || g.Project == q.Project && g.Workflow == q.Workflow) &&
			(q.Due.IsZero() || g.Unsent > 0 && !g.Until.After(q.Due)) && (len(q.Routes) == 0 || slices.Contains(q.Routes, g.Route)) && !slices.Contains(q.Without, g.Route)
		if fits && (q.Count == 0 || len(list) < q.Count) {
			list = append(list, g)
		}
	}
	return list, nil
}

func (m *memory) EndQuiet(_ context.Context, groups []host.NoticeGroup, until time.Time, notices ...host.StoredNotice) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range groups {
		if now, there := m.groups[g.Key]; !there || now.Seen != g.Seen || !now.Until.Equal(g.Until) {
			return host.ErrConflict
		}
	}
	for _, g := range groups {
		g.Until, g.Unsent = until, 0
		if m.groups[g.Key] = g; until.IsZero() {
			delete(m.groups, g.Key)
		}
	}
	m.put(notices)
	return nil
}

func (m *memory) NoteDelivery(_ context.Context, channel, problem string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.channels[channel]
	if c.Channel = channel; problem == "" {
		c.DeliveredAt = at
	} else {
		c.FailedAt, c.Error = at, problem
	}
	m.channels[channel] = c
	return nil
}

func (m *memory) Deliveries(context.Context) (list []host.ChannelDelivery, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.channels)) {
		c := m.channels[name]
		for _, n := range m.list {
			if n.Channel == name && !n.Due.IsZero() {
				c.Waiting++
			}
		}
		list = append(list, c)
	}
	return list, nil
}
