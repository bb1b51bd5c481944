package sqlstore

import (
	"context"
	"strings"
	"time"

	"zerodag/internal/host"
)

const serverColumns = "id, name, host_name, process_id, version, executor, scheduler, agent, task_types, running, slots, ahead, stopping, lease, exposed," +
	" started_at, seen_at, lost_at"

func scanServer(r *Row) host.Server {
	return host.Server{ID: r.Text(), Name: r.Text(), Host: r.Text(), PID: r.Int(), Version: r.Text(), Executor: r.Bool(), Scheduler: r.Bool(), Agent: r.Bool(),
		Types: splitTypes(r.Text()), Running: r.Int(), Slots: r.Int(), Ahead: micros(r.ID()), Stopping: r.Bool(), Lease: micros(r.ID()), Exposed: r.Text(),
		StartedAt: r.Time(), SeenAt: r.Time(), LostAt: r.Time()}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// splitTypes reads names that are separated by commas, which names of operators do not contain.
func splitTypes(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// clock returns the time of the database: of its server, or of this process if there is no server.
func (s *Store) clock(c Conn) (time.Time, error) {
	if s.dialect.Clock == "" {
		return Stamp(s.now()), nil
	}
	now, _, err := One(c, (*Row).Time, "SELECT "+s.dialect.Clock)
	return now, err
}

// PutServer stores the record of a server: see host.Servers.
func (s *Store) PutServer(ctx context.Context, x host.Server) error {
	return s.write(ctx, func(t tx) error {
		now, err := s.clock(t)
		if err != nil {
			return err
		}
		_, err = t.Exec("INSERT INTO @servers ("+serverColumns+", schema_version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"+
			" ON CONFLICT (id) DO UPDATE SET name = excluded.name, host_name = excluded.host_name, process_id = excluded.process_id,"+
			" version = excluded.version, executor = excluded.executor, scheduler = excluded.scheduler, agent = excluded.agent,"+
			" task_types = excluded.task_types, running = excluded.running, slots = excluded.slots, ahead = excluded.ahead,"+
			" stopping = excluded.stopping, lease = excluded.lease, exposed = excluded.exposed, seen_at = excluded.seen_at, lost_at = NULL, schema_version = excluded.schema_version",
			x.ID, x.Name, x.Host, x.PID, x.Version, x.Executor, x.Scheduler, x.Agent, strings.Join(x.Types, ","), x.Running, x.Slots,
			x.Ahead.Microseconds(), x.Stopping, x.Lease.Microseconds(), x.Exposed, now, now, s.schema)
		return err
	})
}

// OlderServers lists the servers that do not know the given schema version and may still be running, as "NAME on HOST".
func (s *Store) OlderServers(c Conn, version int) ([]string, error) {
	now, err := s.clock(c)
	if err != nil {
		return nil, err
	}
	return Collect(c, func(r *Row) string { return r.Text() + " on " + r.Text() },
		"SELECT name, host_name FROM @servers WHERE schema_version < ? AND lost_at IS NULL AND seen_at + lease >= ? ORDER BY name, id", version, now)
}

// RemoveServer removes a record: see host.Servers.
func (s *Store) RemoveServer(ctx context.Context, id string) error {
	return s.write(ctx, func(t tx) error {
		_, err := t.Exec("DELETE FROM @servers WHERE id = ?", id)
		return err
	})
}

// Servers lists the records: see host.Servers.
func (s *Store) Servers(ctx context.Context) (list []host.Server, now time.Time, err error) {
	err = s.driver.Read(ctx, func(c Conn) error {
		if now, err = s.clock(c); err != nil {
			return err
		}
		list, err = Collect(c, scanServer, "SELECT "+serverColumns+" FROM @servers ORDER BY started_at, id")
		return err
	})
	return list, now, err
}

// LoseServer marks a server as lost: see host.Servers.
func (s *Store) LoseServer(ctx context.Context, x host.Server) (lost bool, err error) {
	err = s.write(ctx, func(t tx) error {
		now, err := s.clock(t)
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE @servers SET lost_at = ? WHERE id = ? AND seen_at = ? AND lost_at IS NULL", now, x.ID, x.SeenAt)
		lost = n > 0
		return err
	})
	return lost, err
}

// ForgetServers removes old records of lost servers: see host.Servers.
func (s *Store) ForgetServers(ctx context.Context, kept time.Duration) error {
	return s.write(ctx, func(t tx) error {
		now, err := s.clock(t)
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM @servers WHERE lost_at < ?", now.Add(-kept))
		return err
	})
}
