package host

import (
	"context"
	"io"
	"time"

	"zerodag/events"
	"zerodag/operators"
)

// Logs keeps the logs of tasks: one file for each run of a task, or several
// (engine.md 2.13).
type Logs interface {
	// Open begins a run's log. The file exists once the first text arrives. created is when the attempt was created; it
	// groups an attempt's files.
	Open(id operators.Identity, created time.Time) TaskLog
	// Files lists an attempt's files whose names begin with prefix, sorted by name.
	Files(ctx context.Context, a Attempt, prefix string) ([]LogFile, error)
	// File reads a file as stored, in gzip format, even while it is being written. It returns ErrNotFound if the file does
	// not exist.
	File(ctx context.Context, a Attempt, name string) (io.ReadCloser, int64, error)
}

// TaskLog is one run's log; Close ends it.
type TaskLog interface {
	operators.Log
	io.Closer
}

// LogFile describes a log file.
type LogFile struct {
	Name     string // "+wf+task@<16 hex>.<agent>.log.gz"
	Size     int64
	TaskName string
	Time     time.Time // of the first text
	AgentID  string
	Direct   string // URL that reads it without credentials; "" for none
}

// TextLinks is implemented by Logs whose files can be read through a link in a browser.
type TextLinks interface {
	// TextLink returns a URL at which a browser shows one of an attempt's files as text; "" if the file has no link.
	TextLink(ctx context.Context, a Attempt, f LogFile) (string, error)
}

// ShortLogs stores the logs of tasks that print little in the entries that contain their results, which saves writes. A
// log kept here becomes part of the next entry that this process appends.
type ShortLogs interface {
	// KeepShort keeps a run's log, in gzip format, for the next entry of the attempt. Neither the log nor the result of
	// the run is durable before that entry is.
	KeepShort(attempt int64, name string, content []byte)
	// TakeShort removes and returns the logs that are kept for an attempt, because another process will append them.
	TakeShort(attempt int64) []events.Log
}

// NoShortLogs keeps no logs: every log is stored separately.
type NoShortLogs struct{}

// KeepShort implements ShortLogs.
func (NoShortLogs) KeepShort(int64, string, []byte) {}

// TakeShort implements ShortLogs.
func (NoShortLogs) TakeShort(int64) []events.Log { return nil }

// NoLogs keeps no logs.
type NoLogs struct{}

// Open implements Logs.
func (NoLogs) Open(operators.Identity, time.Time) TaskLog { return noLog{} }

// Files implements Logs.
func (NoLogs) Files(context.Context, Attempt, string) ([]LogFile, error) { return nil, nil }

// File implements Logs.
func (NoLogs) File(context.Context, Attempt, string) (io.ReadCloser, int64, error) {
	return nil, 0, ErrNotFound
}

type noLog struct{}

func (noLog) Write(p []byte) (int, error)          { return len(p), nil }
func (noLog) Echo(string)                          {}
func (noLog) Line(operators.Level, string, string) {}
func (noLog) Close() error                         { return nil }
