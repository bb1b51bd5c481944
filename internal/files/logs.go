package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// ShortLogs keeps the logs of runs that print little, each under the name that its file would have. Its methods are
// safe for concurrent use.
type ShortLogs interface {
	// AddLog stores a log; adding it again changes nothing. It must not keep content after it returns.
	AddLog(ctx context.Context, attempt int64, name string, content []byte) error
	// AddLogSoon is AddLog without waiting: the log is stored no later than any later write, and all readers can see it
	// at once. An error means that it is not stored; otherwise settled is called with the outcome, and must neither
	// wait nor call ShortLogs. Until then, content belongs to ShortLogs.
	AddLogSoon(attempt int64, name string, content []byte, settled func(error)) error
	// LogSizes passes the names and sizes of an attempt's logs whose names begin with prefix to add.
	LogSizes(ctx context.Context, attempt int64, prefix string, add func(name string, size int64)) error
	// LogContent reads one log. It returns host.ErrNotFound if the log does not exist.
	LogContent(ctx context.Context, attempt int64, name string) ([]byte, error)
	// RemoveLogs removes all logs of some attempts; missing ones are not an error.
	RemoveLogs(ctx context.Context, attempts []int64) error
}

// Logs keeps task logs as files below a folder. It implements host.Logs.
type Logs struct {
	folder string
	agent  string
	split  int64
	form   tasklog.Form
	now    func() time.Time
	zips   tasklog.Zips
	short  ShortLogs
	names  names
	late   late
	open   func(name string, flag int) (logFile, error)
}

// LogOptions are the settings of Logs.
type LogOptions struct {
	Folder  string
	AgentID string           // appears in file names; "" means <pid>@<host>
	Split   int64            // how many bytes of text a run writes before it continues in another file; 0: no limit
	Form    tasklog.Form     // the format of the engine's lines
	Short   ShortLogs        // keeps logs with little text; nil: every run has a separate file
	Now     func() time.Time // nil means time.Now
	Logger  *slog.Logger     // for logs that cannot be stored; may be nil
}

// NewLogs returns Logs; the folder is created when the first text is stored.
func NewLogs(o LogOptions) *Logs {
	l := &Logs{folder: o.Folder, agent: o.AgentID, split: o.Split, form: o.Form, short: o.Short, now: o.Now, open: openFile}
	if l.late.logger = o.Logger; o.Logger == nil {
		l.late.logger = slog.New(slog.DiscardHandler)
	}
	if o.Split > 0 {
		l.short = nil
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.agent == "" {
		l.agent = ThisAgent()
	}
	return l
}

// Trouble returns why logs are waiting to be stored, for example because the disk is full; nil if none are waiting.
func (l *Logs) Trouble() error { return l.late.trouble() }

// Close tries to store waiting text one last time, and returns an error if text is lost.
func (l *Logs) Close() error { return l.late.close() }

// ThisAgent returns this process's name as an agent: <pid>@<host>.
func ThisAgent() string {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), name)
}

// Open begins a run's log: see host.Logs.
func (l *Logs) Open(id operators.Identity, created time.Time) host.TaskLog {
	return &taskLog{logs: l, attempt: id.AttemptID, folder: filepath.Join(l.folder, folderOfRun(id, created)), task: id.TaskName, source: l.form.Source(id)}
}

// Files lists an attempt's log files.
func (l *Logs) Files(ctx context.Context, a host.Attempt, prefix string) ([]host.LogFile, error) {
	folder, err := folderOfAttempt(a)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(l.folder, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list logs of attempt %d: %w", a.ID, err)
	}
	list, err := l.listShort(ctx, a.ID, prefix)
	if err != nil {
		return nil, fmt.Errorf("list logs of attempt %d: %w", a.ID, err)
	}
	for _, e := range entries {
		f, ok := tasklog.ParseName(e.Name())
		if !ok || !strings.HasPrefix(f.Name, prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("list logs of attempt %d: %w", a.ID, err)
		}
		if f.Size = info.Size(); f.Size == 0 {
			continue // its first text is about to be written
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(x, y host.LogFile) int { return strings.Compare(x.Name, y.Name) })
	return list, ctx.Err()
}

// Remove deletes all logs of attempts. Deleting them twice is not an error. Two projects can share a folder (project 1
// with workflow 2a, project 12 with workflow a), so a file is deleted only if it belongs to a task of the attempt's
// workflow.
func (l *Logs) Remove(ctx context.Context, list []host.Attempt) error {
	var ids []int64
	for _, a := range list {
		ids = append(ids, a.ID)
		folder, err := folderOfAttempt(a)
		if err == nil {
			err = removeLogs(filepath.Join(l.folder, folder), a.Workflow.Name)
		}
		if err != nil {
			return fmt.Errorf("remove logs of attempt %d: %w", a.ID, err)
		}
	}
	if l.short == nil || len(ids) == 0 {
		return nil
	}
	return l.short.RemoveLogs(ctx, ids)
}

// removeLogs deletes a workflow's logs in a folder, and the folders that are empty afterwards.
func removeLogs(folder, workflow string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if f, ok := tasklog.ParseName(e.Name()); !ok || !ofWorkflow(f.TaskName, workflow) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	os.Remove(folder)               // fails while it contains other files
	os.Remove(filepath.Dir(folder)) // fails while the day has other folders
	return nil
}

// ofWorkflow reports whether a task belongs to a workflow, according to its name in a file name. The name may have been
// cut off within the workflow's name.
func ofWorkflow(task, workflow string) bool {
	root := "+" + tasklog.Within(workflow)
	if rest, found := strings.CutPrefix(task, root); found {
		return rest == "" || strings.ContainsAny(rest[:1], "+^~")
	}
	cut := strings.LastIndexByte(task, '~')
	return cut > len("+") && len(task)-cut == len("~0123456789ab") && strings.HasPrefix(root, task[:cut])
}

// File opens one of an attempt's log files up to its current size: text that is written in the meantime is not
// included.
func (l *Logs) File(ctx context.Context, a host.Attempt, name string) (io.ReadCloser, int64, error) {
	folder, err := folderOfAttempt(a)
	if err != nil {
		return nil, 0, err
	}
	if _, ok := tasklog.ParseName(name); !ok {
		return nil, 0, fmt.Errorf("read log %q: %w", name, host.ErrNotFound)
	}
	in, size, err := openSized(filepath.Join(l.folder, folder, name), wholeSize)
	if errors.Is(err, host.ErrNotFound) {
		return l.openShort(ctx, a.ID, name)
	}
	return in, size, err
}

// sized is a file up to the size that it had when it was opened.
type sized struct {
	io.Reader
	io.Closer
}

// openSized opens a file up to the end that whole returns or, if whole is nil, up to its size.
func openSized(path string, whole func(f io.ReaderAt, size int64) int64) (io.ReadCloser, int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("open file: %w: %w", host.ErrNotFound, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = host.ErrNotFound
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open file: %w", err), f.Close())
	}
	size := info.Size()
	if whole != nil {
		size = whole(f, size)
	}
	return sized{io.LimitReader(f, size), f}, size, nil
}
