package postgres

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// Logs keeps task logs in a database: a host.Logs for servers that share only the database. Each server reads what the
// others write as soon as it is stored.
type Logs struct {
	db     *DB
	agent  string
	split  int64
	form   tasklog.Form
	now    func() time.Time
	logger *slog.Logger
	zips   tasklog.Zips

	mu   sync.Mutex
	last time.Time // the time in the newest name
}

// LogOptions holds the settings of Logs.
type LogOptions struct {
	AgentID string           // appears in file names; "" is <pid>@<host>
	Split   int64            // bytes of text after which a run continues in another file; 0 means never
	Form    tasklog.Form     // the format of the engine's lines
	Now     func() time.Time // time.Now when nil
	Logger  *slog.Logger     // for logs that cannot be stored; may be nil
}

// NewLogs returns the Logs of an open database.
func NewLogs(db *DB, o LogOptions) *Logs {
	l := &Logs{db: db, agent: o.AgentID, split: o.Split, form: o.Form, now: o.Now, logger: o.Logger}
	if l.now == nil {
		l.now = time.Now
	}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	if l.agent == "" {
		name, err := os.Hostname()
		if err != nil {
			name = "localhost"
		}
		l.agent = fmt.Sprintf("%d@%s", os.Getpid(), name)
	}
	return l
}

// Open begins a run's log: see host.Logs.
func (l *Logs) Open(id operators.Identity, _ time.Time) host.TaskLog {
	return &taskLog{logs: l, attempt: id.AttemptID, task: id.TaskName, source: l.form.Source(id), wait: moment}
}

// unique returns the time, moved forward just far enough that no other file of this process has the same time.
func (l *Logs) unique() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.now()
	if !at.After(l.last) && l.last.Sub(at) < time.Second {
		at = l.last.Add(1)
	}
	l.last = at
	return at
}

// Files lists the log files of an attempt.
func (l *Logs) Files(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	var list []host.LogFile
	err := l.db.LogSizes(ctx, a.ID, prefix, func(name string, size int64) {
		if f, ok := tasklog.ParseName(name); ok {
			f.Size = size
			list = append(list, f)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list logs of attempt %d: %w", a.ID, err)
	}
	return list, nil
}

// File opens a log file of an attempt. Text written in the meantime is not part of it.
func (l *Logs) File(ctx context.Context, a host.Attempt, name string) (io.ReadCloser, int64, error) {
	if _, ok := tasklog.ParseName(name); !ok {
		return nil, 0, fmt.Errorf("read log %q: %w", name, host.ErrNotFound)
	}
	p, size, err := l.db.openLog(ctx, a.ID, name)
	if err != nil {
		return nil, 0, fmt.Errorf("open log %q: %w", name, err)
	}
	return p, size, nil
}

// Remove deletes all logs of attempts. Doing so twice is not an error.
func (l *Logs) Remove(ctx context.Context, list []host.Attempt) error {
	var ids []int64
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	return l.db.RemoveLogs(ctx, ids)
}
