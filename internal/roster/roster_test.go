package roster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
)

// memory is a host.Servers that is lost with the process. It can be made unavailable to some of its users.
type memory struct {
	mu   sync.Mutex
	list map[string]host.Server
}

func (m *memory) PutServer(_ context.Context, s host.Server) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.StartedAt, s.SeenAt, s.LostAt = time.Now(), time.Now(), time.Time{}
	if old, known := m.list[s.ID]; known {
		s.StartedAt = old.StartedAt
	}
	m.list[s.ID] = s
	return nil
}

func (m *memory) RemoveServer(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, id)
	return nil
}

func (m *memory) Servers(context.Context) ([]host.Server, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.SortedFunc(maps.Values(m.list), func(a, b host.Server) int { return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID)) })
	return list, time.Now(), nil
}

func (m *memory) LoseServer(_ context.Context, s host.Server) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, known := m.list[s.ID]
	if !known || !now.LostAt.IsZero() || !now.SeenAt.Equal(s.SeenAt) {
		return false, nil
	}
	now.LostAt = time.Now()
	m.list[s.ID] = now
	return true, nil
}

func (m *memory) ForgetServers(_ context.Context, kept time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.list, func(_ string, s host.Server) bool { return !s.LostAt.IsZero() && time.Since(s.LostAt) > kept })
	return nil
}

// states shows the records: "a b:stopping c:lost".
func (m *memory) states() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, id := range slices.Sorted(maps.Keys(m.list)) {
		switch s := m.list[id]; {
		case !s.LostAt.IsZero():
			id += ":lost"
		case s.Stopping:
			id += ":stopping"
		}
		list = append(list, id)
	}
	return strings.Join(list, " ")
}

// TestServersInMemory runs the contract suite on the store of these tests.
func TestServersInMemory(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("it stores records of servers only", "Servers"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		run(t, suite.Stores{Servers: &memory{list: map[string]host.Server{}}, Now: time.Now})
	}})
}

type store = host.Servers

// wire is a connection to the store that can be cut.
type wire struct {
	store
	mu  sync.Mutex
	cut bool
}

func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

func (w *wire) wrong() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return fmt.Errorf("connect: %w", host.ErrUnavailable)
	}
	return nil
}

func (w *wire) PutServer(ctx context.Context, s host.Server) error {
	if err := w.wrong(); err != nil {
		return err
	}
	return w.store.PutServer(ctx, s)
}

func (w *wire) RemoveServer(ctx context.Context, id string) error {
	if err := w.wrong(); err != nil {
		return err
	}
	return w.store.RemoveServer(ctx, id)
}

// server is a server of a test: its loop, its connection and what it reported.
type server struct {
	wire
	log       bytes.Buffer
	lost      int
	stop, end context.CancelFunc
	ended     chan struct{}
}

const lease, every = 30 * time.Second, 10 * time.Second

// join starts a server. A killed server is one whose connection is cut permanently.
func join(t *testing.T, in *memory, id string, alone bool) *server {
	s := &server{wire: wire{store: in}, ended: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	accepting, stop := context.WithCancel(ctx)
	s.end, s.stop = end, stop
	r := New(Options{Servers: &s.wire, Every: every, Alone: alone, Lost: func() { s.lost++ }, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
		Self: func() host.Server {
			return host.Server{ID: id, Name: "1@" + id, Host: id, PID: 1, Lease: lease, Running: 3, Stopping: accepting.Err() != nil}
		}})
	go func() {
		defer close(s.ended)
		r.Run(ctx, accepting)
	}()
	t.Cleanup(func() { end(); <-s.ended })
	synctest.Wait()
	return s
}

func want(t *testing.T, what string, m *memory, states string) {
	t.Helper()
	synctest.Wait()
	if got := m.states(); got != states {
		t.Errorf("%s: got %q, want %q", what, got, states)
	}
}

// TestLostServer proves that a server that is silent for longer than its lease is reported once by exactly one of the
// others, that its record stays for a day, and that a server that is back is no longer lost.
func TestLostServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{list: map[string]host.Server{}}
		servers := map[string]*server{}
		for _, id := range []string{"a", "b", "c"} {
			servers[id] = join(t, m, id, false)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * lease)
		want(t, "at first", m, "a b c")
		servers["b"].set(true)
		time.Sleep(lease - every)
		want(t, "before the end of the lease", m, "a b c")
		time.Sleep(2*every + time.Second)
		want(t, "after the lease", m, "a b:lost c")
		time.Sleep(time.Hour)
		reports, lines := 0, ""
		for _, s := range servers {
			reports += s.lost
			lines += s.log.String()
		}
		if reports != 1 || strings.Count(lines, "WARN") != 1 || !strings.Contains(lines, "server=1@b host=b process=1") || !strings.Contains(lines, "tasks=3") {
			t.Errorf("%d reports, want one; log:\n%s", reports, lines)
		}
		time.Sleep(Kept - 2*time.Hour)
		want(t, "within a day", m, "a b:lost c")
		time.Sleep(2 * time.Hour)
		want(t, "after a day", m, "a c")
		servers["b"].set(false)
		time.Sleep(every + time.Second)
		want(t, "when it is back", m, "a b c")
	})
}

// TestStoppedServer proves that the record shows that a server is stopping, that it is removed at the end, and that no
// other server reports a loss.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{list: map[string]host.Server{}}
		a, b := join(t, m, "a", false), join(t, m, "b", false)
		a.stop()
		want(t, "while it waits for tasks", m, "a:stopping b")
		a.end()
		want(t, "at the end", m, "b")
		time.Sleep(time.Hour)
		if a.lost+b.lost != 0 || a.log.Len()+b.log.Len() != 0 {
			t.Errorf("a stopped server was reported:\n%s%s", &a.log, &b.log)
		}
	})
}

// TestOutage proves that no server is reported after an outage that affected all of them, however long it was, except a
// server that died meanwhile.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{list: map[string]host.Server{}}
		var all []*server
		for _, id := range []string{"a", "b", "c"} {
			all = append(all, join(t, m, id, false))
			time.Sleep(3 * time.Second)
		}
		time.Sleep(2 * lease)
		for _, s := range all {
			s.set(true)
		}
		time.Sleep(time.Hour)
		for _, s := range all[:2] {
			s.set(false)
		}
		time.Sleep(lease - time.Second)
		want(t, "soon after the outage", m, "a b c")
		time.Sleep(2*every + 2*time.Second)
		want(t, "later", m, "a b c:lost")
	})
}

// TestAlone proves that the next process to open a database file immediately reports the previous process if that was
// killed.
func TestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{list: map[string]host.Server{}}
		a := join(t, m, "a", true)
		a.set(true)
		a.end()
		<-a.ended
		b := join(t, m, "b", true)
		want(t, "after the start", m, "a:lost b")
		if b.lost != 1 {
			t.Errorf("got %d reports, want 1", b.lost)
		}
	})
}
