package server

import (
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// bound is a limit: its name, and the settings that change it on a server and on an AWS stage.
type bound struct {
	name, about, server, stage, unit string
	value                            func(c *endpoint.Call, l host.Limits) int64 // 0 means no limit
	use                              func(c *endpoint.Call) (int64, error)
	// only reports whether the limit applies; nil means that it always does.
	only func(c *endpoint.Call) bool
}

func onOneMachine(c *endpoint.Call) bool { return len(c.Dead) == 0 }
func withSlots(c *endpoint.Call) bool    { return c.Uploads != nil }

// bounds returns all limits in the order in which they are shown.
func bounds() []bound {
	duration := func(of func(host.Limits) time.Duration) func(*endpoint.Call, host.Limits) int64 {
		return func(_ *endpoint.Call, l host.Limits) int64 { return wire.InSeconds(of(l)) }
	}
	return []bound{
		{"attempts", "unfinished attempts of a site", "executor.attempt_max_run", "attemptLimit", "attempts",
			func(_ *endpoint.Call, l host.Limits) int64 { return int64(l.Attempts) }, activeHere, nil},
		{"tasks", "tasks of an attempt", "executor.task_max_run", "taskLimit", "tasks", func(_ *endpoint.Call, l host.Limits) int64 { return int64(l.Tasks) }, nil, nil},
		{"threads", "concurrent runs of tasks", "agent.max-task-threads", "", "runs", func(_ *endpoint.Call, l host.Limits) int64 { return int64(l.Threads) }, runningNow, onOneMachine},
		{"attempt_time", "lifetime of an attempt", "executor.attempt_ttl", "", "seconds", duration(func(l host.Limits) time.Duration { return l.AttemptTTL }), nil, nil},
		{"task_time", "lifetime of a task", "executor.task_ttl", "", "seconds", duration(func(l host.Limits) time.Duration { return l.TaskTTL }), nil, nil},
		{"run_time", "how long one run of a task may take", "", "", "seconds", duration(func(l host.Limits) time.Duration { return l.RunTime }), nil, nil},
		{"lease", "how long a run may be silent before it counts as lost", "agent.lock-retention-time", "leaseSeconds", "seconds", duration(func(l host.Limits) time.Duration { return l.Lease }), nil, nil},
		{"crashes", "consecutive server crashes during which a task may run", "agent.max_crashes", "", "crashes", func(_ *endpoint.Call, l host.Limits) int64 { return int64(l.MaxCrashes()) }, nil, onOneMachine},
		{"keep_attempts", "how long attempts are kept after their end", "retention.attempts", "attemptDays", "seconds", duration(func(l host.Limits) time.Duration { return l.KeepAttempts }), nil, nil},
		{"keep_history", "how long the history of an attempt is kept after its end", "executor.log_retention", "", "seconds", duration(func(l host.Limits) time.Duration { return l.Retention }), nil, onOneMachine},
		{"keep_logs", "how long logs of tasks are kept", "retention.logs", "logDays", "seconds", duration(func(l host.Limits) time.Duration { return l.KeepLogs }), nil, nil},
		{"keep_archives", "how long unused archives are kept after the next revision", "retention.archives", "archiveDays", "seconds", duration(func(l host.Limits) time.Duration { return l.KeepArchives }), nil, nil},
		{"keep_audit", "how long the audit log is kept", "retention.audit", "auditDays", "seconds", duration(func(l host.Limits) time.Duration { return l.KeepRecords }), nil, nil},
		{"archive", "size of an archive in a request", "api.max_archive_total_size_limit", "", "bytes", func(c *endpoint.Call, _ host.Limits) int64 { return c.Limits.Archive }, nil, nil},
		{"upload", "size of an archive that is uploaded to the store", "", "", "bytes", func(c *endpoint.Call, _ host.Limits) int64 { return c.Limits.Upload }, nil, withSlots},
		{"body", "size of the JSON body of a request", "", "", "bytes", func(c *endpoint.Call, _ host.Limits) int64 { return c.Limits.Body }, nil, nil},
		{"attempts_page", "attempts in one response", "api.max_attempts_page_size", "", "rows", func(c *endpoint.Call, _ host.Limits) int64 { return int64(c.Limits.Attempts) }, nil, nil},
		{"sessions_page", "sessions in one response", "api.max_sessions_page_size", "", "rows", func(c *endpoint.Call, _ host.Limits) int64 { return int64(c.Limits.Sessions) }, nil, nil},
		{"request_time", "how long a request may take", "", "", "seconds", func(c *endpoint.Call, _ host.Limits) int64 { return wire.InSeconds(c.Limits.Request) }, nil, nil},
		{"transfer_time", "how long an upload or a download may take", "", "", "seconds", func(c *endpoint.Call, _ host.Limits) int64 { return wire.InSeconds(c.Limits.Transfer) }, nil, nil},
	}
}

// activeHere counts unfinished attempts of the caller's site.
func activeHere(c *endpoint.Call) (int64, error) {
	n, err := c.Node.CountActive(c.Ctx(), c.Actor.Site, c.Node.Limits().Attempts)
	return int64(n), err
}

// runningNow counts task runs in this process.
func runningNow(c *endpoint.Call) (int64, error) { return c.Node.Stats().TasksRunning, nil }

// getLimits lists the server's limits, with their use if that can be determined without many reads.
func getLimits(c *endpoint.Call) (any, error) {
	l, list := c.Node.Limits(), []wire.Limit{}
	for _, b := range bounds() {
		if b.only != nil && !b.only(c) {
			continue
		}
		r := wire.Limit{Name: b.name, About: b.about, Setting: wire.TextOrNull(b.server), Unit: b.unit}
		if !onOneMachine(c) {
			r.Setting = wire.TextOrNull(b.stage)
		}
		if n := b.value(c, l); n != 0 {
			r.Value = &n
		}
		if b.use != nil {
			n, err := b.use(c)
			if err != nil {
				return nil, err
			}
			r.Use = &n
		}
		list = append(list, r)
	}
	return map[string][]wire.Limit{"limits": list}, nil
}
