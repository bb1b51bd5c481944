package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zerodag/internal/limits"
	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// Text is gathered and stored as a gzip member of its own when there is much of it, after
// a moment, or at the end: what lies in the file is complete at any time, and a task that
// says little costs one write.
const (
	gathered = 64 << 10
	moment   = 100 * time.Millisecond
	// mostGathered is what waits for a descriptor while the machine has none.
	mostGathered = 4 << 20
	endTime      = 10 * time.Second // the same at the end of the log
)

// taskLog is the log of one run.
type taskLog struct {
	logs   *Logs
	folder string
	task   string
	thread string

	mu     sync.Mutex
	text   []byte // not stored yet
	began  time.Time
	name   string   // of the file; "" before anything is stored
	file   *os.File // nil while nothing is written: a task that waits holds no descriptor
	size   int64    // of the text in the file
	timer  *time.Timer
	failed error
	closed bool
}

// Write appends output of a command. It never fails: see operators.Log.
func (t *taskLog) Write(p []byte) (int, error) {
	t.keep(p, "")
	return len(p), nil
}

// Echo appends the message of `echo>`, without a newline (spec engine.md 2.13).
func (t *taskLog) Echo(message string) { t.keep(nil, message) }

// Line appends a message of the engine.
func (t *taskLog) Line(level operators.Level, logger, message string) {
	t.keep(nil, tasklog.Line(t.logs.now(), level, t.thread, logger, message))
}

func (t *taskLog) keep(p []byte, s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.failed != nil {
		return
	}
	if t.logs.split > 0 && t.size+int64(len(t.text)) > t.logs.split {
		t.failed = errors.Join(t.store(), t.end())
	}
	if t.began.IsZero() {
		t.began = t.logs.now()
	}
	t.text = append(append(t.text, p...), s...)
	if len(t.text) >= gathered {
		t.failed = errors.Join(t.failed, t.store())
	} else if t.timer == nil {
		t.timer = time.AfterFunc(moment, t.tick)
	}
}

// tick stores what has been gathered for a moment.
func (t *taskLog) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = nil
	if !t.closed && t.failed == nil {
		t.failed = errors.Join(t.store(), t.rest())
	}
}

// store writes what was gathered as one gzip member.
func (t *taskLog) store() error {
	if len(t.text) == 0 {
		return nil
	}
	if t.file == nil {
		err := t.open()
		if limits.Scarce(err) && !t.closed && len(t.text) < mostGathered {
			return nil // it is tried again with what comes next
		}
		if err != nil {
			return fmt.Errorf("keep log of task %s: %w", t.task, err)
		}
	}
	err := t.logs.zips.Compress(t.text, func(content []byte) error {
		_, err := t.file.Write(content)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep log of task %s: %w", t.task, err)
	}
	t.size += int64(len(t.text))
	t.text = t.text[:0]
	return nil
}

// create makes the file. Of two runs that begin at once the later is put a nanosecond on.
func (t *taskLog) create() error {
	for ; ; t.began = t.began.Add(1) {
		name := filepath.Join(t.folder, tasklog.Name(t.task, t.logs.agent, t.began))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateFile)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(t.folder, privateFolder); err != nil {
				return err
			}
			f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateFile)
		}
		if !errors.Is(err, fs.ErrExist) {
			if t.file = f; err == nil {
				t.name = name
			}
			return err
		}
	}
}

// open opens the file where it goes on, or makes it.
func (t *taskLog) open() (err error) {
	if t.name == "" {
		return t.create()
	}
	t.file, err = os.OpenFile(t.name, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// rest closes the file until there is more.
func (t *taskLog) rest() error {
	f := t.file
	if t.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// end closes the file; what comes then goes to another.
func (t *taskLog) end() error {
	t.name, t.size, t.began = "", 0, time.Time{}
	return t.rest()
}

// Close stores the rest and returns the first trouble there was.
func (t *taskLog) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.failed != nil {
		return errors.Join(t.failed, t.end())
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if t.name == "" && len(t.text) > 0 && len(t.text) <= shortText && !t.logs.apart {
		return limits.Patiently(ctx, nil, t.storeShort)
	}
	return errors.Join(limits.Patiently(ctx, nil, t.store), t.end())
}

// storeShort puts a log that is complete, and short, to the other short ones.
func (t *taskLog) storeShort() error {
	err := t.logs.zips.Compress(t.text, func(content []byte) error {
		return t.logs.short.add(t.folder+shortSuffix, tasklog.Name(t.task, t.logs.agent, t.logs.short.unique(t.began)), content)
	})
	if err != nil {
		return fmt.Errorf("keep log of task %s: %w", t.task, err)
	}
	return nil
}
