package wire

import (
	"time"

	"zerodag/internal/host"
)

// Servers lists the servers that share a database. All times come from the database's clock.
type Servers struct {
	At      Moment   `json:"at"`
	Servers []Server `json:"servers"`
}

// Server is one of the servers that share a database.
type Server struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Host      string   `json:"host"`
	ProcessID int      `json:"processId"`
	Version   string   `json:"version"`
	State     string   `json:"state"`
	Roles     []string `json:"roles"`
	TaskTypes []string `json:"taskTypes"` // null means all
	Running   int      `json:"runningTasks"`
	Slots     *int     `json:"taskSlots"`  // null means no limit
	Ahead     float64  `json:"clockAhead"` // seconds
	Exposed   *string  `json:"exposed"`    // null means that commands cannot read its data, or that callers need no login
	StartedAt Moment   `json:"startedAt"`
	SeenAt    Moment   `json:"seenAt"`
	LostAt    Moment   `json:"lostAt"`
}

// ServerOf shows a server; now is the database's time.
func ServerOf(s host.Server, now time.Time) Server {
	r := Server{ID: s.ID, Name: s.Name, Host: s.Host, ProcessID: s.PID, Version: s.Version, State: serverState(s, now), Roles: []string{}, TaskTypes: s.Types,
		Running: s.Running, Ahead: s.Ahead.Round(time.Millisecond).Seconds(), StartedAt: Moment(s.StartedAt), SeenAt: Moment(s.SeenAt), LostAt: Moment(s.LostAt)}
	for _, role := range []struct {
		name string
		has  bool
	}{{"executor", s.Executor}, {"scheduler", s.Scheduler}, {"agent", s.Agent}} {
		if role.has {
			r.Roles = append(r.Roles, role.name)
		}
	}
	if s.Exposed != "" {
		r.Exposed = &s.Exposed
	}
	if s.Slots > 0 {
		r.Slots = &s.Slots
	}
	return r
}

// serverState returns a server's state. A silent server is not lost until another server has noticed.
func serverState(s host.Server, now time.Time) string {
	switch {
	case !s.LostAt.IsZero():
		return "lost"
	case s.Silent(now):
		return "silent"
	case s.Stopping:
		return "stopping"
	}
	return "running"
}
