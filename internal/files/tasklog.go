package files

import (
	"bytes"
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

// Text is buffered and stored as a separate gzip member if there is a lot of it, after a moment, or at the end. The
// file is complete at all times, and a task that prints little needs only one write.
const (
	gathered   = 64 << 10
	mostMember = 1 << 20 // bytes of text in one member
	moment     = 100 * time.Millisecond
	endTime    = 10 * time.Second // how long the end of a log waits for free descriptors
)

// taskLog is one run's log.
type taskLog struct {
	logs    *Logs
	attempt int64
	folder  string
	task    string
	source  string // the source in its lines

	mu     sync.Mutex
	text   []byte // not stored yet
	began  time.Time
	name   string  // the file's name; "" before anything is stored
	file   logFile // nil while nothing is written, so that a waiting task holds no descriptor
	size   int64   // of the text in the file
	whole  int64   // the number of bytes of complete members in the file
	torn   bool    // part of another member may follow them
	last   byte    // the last byte of the text in the file; 0 if there is none
	timer  *time.Timer
	failed error // why it can never be stored
	closed bool
	ended  time.Time // when it was closed while it was late

	behind  bool  // it waits among the late logs
	cause   error // why
	taken   int   // how many bytes of memory it uses there
	missing gap   // text that arrived when there was no more memory
}

// logFile has the file methods that a log needs.
type logFile interface {
	WriteAt(p []byte, at int64) (int, error)
	Truncate(size int64) error
	Close() error
}

// openFile opens a log's file.
func openFile(name string, flag int) (logFile, error) {
	f, err := os.OpenFile(name, flag, privateFile)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Write appends output of a command. It never fails: see operators.Log.
func (t *taskLog) Write(p []byte) (int, error) {
	t.keep(p, "")
	return len(p), nil
}

// Echo appends the message of `echo>`, without a newline (engine.md 2.13).
func (t *taskLog) Echo(message string) { t.keep(nil, message) }

// Line appends a message from the engine.
func (t *taskLog) Line(level operators.Level, logger, message string) {
	t.keep(nil, t.logs.form.Line(t.logs.now(), level, t.source, logger, message))
}

func (t *taskLog) keep(p []byte, s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.failed != nil {
		return
	}
	if t.behind && !t.room(len(p)+len(s)) {
		t.missing.add(p)
		t.missing.add([]byte(s))
		return
	}
	if t.logs.split > 0 && !t.behind && t.size+int64(len(t.text)) > t.logs.split {
		t.flush()
		if !t.behind {
			t.failed = errors.Join(t.failed, t.end())
		}
	}
	if t.began.IsZero() {
		t.began = t.logs.now()
	}
	t.text = append(append(t.text, p...), s...)
	switch {
	case t.behind: // it is stored with the late logs
	case len(t.text) >= gathered:
		t.flush()
	case t.timer == nil:
		t.timer = time.AfterFunc(moment, t.tick)
	}
}

// tick stores text that has been in the buffer for a moment.
func (t *taskLog) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = nil
	if !t.closed && !t.behind && t.failed == nil {
		t.flush()
		t.failed = errors.Join(t.failed, t.rest())
	}
}

// room reports whether there is memory for more text of a late log. After a gap nothing is kept until the earlier text
// is stored.
func (t *taskLog) room(n int) bool {
	if t.missing.bytes > 0 || len(t.text)+n > mostGathered || !t.logs.late.take(n) {
		return false
	}
	t.taken += n
	return true
}

// flush stores the buffered text, or lets it wait until that is possible.
func (t *taskLog) flush() {
	if err := t.store(); err != nil {
		t.wait(err)
	}
}

// wait moves a log that cannot be stored to the late logs.
func (t *taskLog) wait(why error) {
	if !passes(why) {
		t.fail(why)
		return
	}
	t.putOff(why)
}

// putOff adds the log to the late logs, or counts the loss if there are too many.
func (t *taskLog) putOff(why error) {
	if !t.logs.late.add(t, why) {
		t.missing.add(t.text)
		t.text, t.failed = nil, why
		t.logs.late.lose(true, t.missing)
		return
	}
	t.behind, t.cause, t.taken = true, why, 0
	if t.closed {
		t.ended = time.Now()
	}
	if n := len(t.text); n > mostGathered || !t.logs.late.take(n) {
		t.missing.add(t.text)
		t.text = nil
	} else {
		t.taken = n
	}
}

// settle stores an ended run's log. It returns an error if the run's result must wait. unstored reports that the result
// no longer waits even though the log is not stored.
func (t *taskLog) settle() (unstored bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		return false, nil
	}
	err = t.catchUpLocked()
	if err != nil && time.Since(t.ended) < holdResult {
		return false, err
	}
	return err != nil, nil
}

// catchUp stores a late log, and ends it if its run has ended. An error means that the log still waits.
func (t *taskLog) catchUp() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.catchUpLocked()
}

// catchUpLocked is catchUp. The lock is held.
func (t *taskLog) catchUpLocked() error {
	if !t.behind {
		return nil // it has been stored in the meantime
	}
	err := t.finish()
	if err != nil && passes(err) {
		t.cause = err
		return errors.Join(err, t.rest())
	}
	if err != nil {
		t.fail(err)
	}
	t.behind = false
	t.logs.late.remove(t, t.taken)
	if t.closed {
		t.text = nil
	}
	if err := t.rest(); err != nil {
		t.fail(err)
	}
	return nil
}

// fail gives up on a log that can never be stored.
func (t *taskLog) fail(why error) {
	t.failed = why
	t.logs.late.logger.Error("the log of a task cannot be stored", "attempt", t.attempt, "task", t.task, "error", why)
}

// finish stores all remaining text in its final place.
func (t *taskLog) finish() error {
	if t.closed {
		t.tellMissing()
	}
	if t.isShort() && t.storeShort() == nil {
		return nil
	}
	if err := t.store(); err != nil || !t.closed {
		return err
	}
	return t.end()
}

// store writes the buffered text, with a line about the gap where text is missing, as gzip members. Existing text in
// the file stays intact in any case.
func (t *taskLog) store() error {
	for len(t.text) > 0 || t.missing.bytes > 0 {
		if len(t.text) == 0 {
			t.tellMissing()
		}
		n := min(len(t.text), mostMember)
		if err := t.member(t.text[:n]); err != nil {
			return fmt.Errorf("keep log of task %s: %w", t.task, err)
		}
		t.last = t.text[n-1]
		t.size += int64(n)
		t.text = t.text[:copy(t.text, t.text[n:])]
	}
	return nil
}

// tellMissing adds a line where text was not kept.
func (t *taskLog) tellMissing() {
	if t.missing.bytes == 0 {
		return
	}
	last := t.last
	if n := len(t.text); n > 0 {
		last = t.text[n-1]
	}
	if last != 0 && last != '\n' {
		t.text = append(t.text, '\n')
	}
	t.text = append(t.text, t.logs.form.Line(t.logs.now(), operators.Warn, t.source, "OperatorManager", t.missing.String()+" are missing here: "+reason(t.cause))...)
	t.logs.late.lose(false, t.missing)
	t.missing = gap{}
}

// member writes text as a gzip member. It removes an incomplete member, because otherwise readers would find a damaged
// file.
func (t *taskLog) member(text []byte) error {
	if t.file == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	if t.torn {
		if err := t.file.Truncate(t.whole); err != nil {
			return err
		}
		t.torn = false
	}
	return t.logs.zips.Compress(text, func(content []byte) error {
		if _, err := t.file.WriteAt(content, t.whole); err != nil {
			t.torn = t.file.Truncate(t.whole) != nil
			return err
		}
		t.whole += int64(len(content))
		return nil
	})
}

// create creates the file. If two runs begin at the same time, the name of the later one gets one more nanosecond.
func (t *taskLog) create() error {
	if t.began.IsZero() {
		t.began = t.logs.now() // all that is known of its text is the gap
	}
	for ; ; t.began = t.began.Add(1) {
		name := filepath.Join(t.folder, tasklog.Name(t.task, t.logs.agent, t.began))
		f, err := t.logs.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.MkdirAll(t.folder, privateFolder); err != nil {
				return err
			}
			f, err = t.logs.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		}
		if !errors.Is(err, fs.ErrExist) {
			if err == nil {
				t.name, t.file = name, f
			}
			return err
		}
	}
}

// open opens the file at the position where it continues, or creates it.
func (t *taskLog) open() (err error) {
	if t.name == "" {
		return t.create()
	}
	f, err := t.logs.open(t.name, os.O_WRONLY)
	if err == nil {
		t.file = f
	}
	return err
}

// rest closes the file until there is more text.
func (t *taskLog) rest() error {
	f := t.file
	if t.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// end closes the file; later text goes to another.
func (t *taskLog) end() error {
	t.name, t.size, t.whole, t.torn, t.last, t.began = "", 0, 0, false, 0, time.Time{}
	return t.rest()
}

// Close stores the rest. It returns an error if that is impossible, but not if text is merely waiting.
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
	if t.behind {
		t.ended = time.Now()
		return t.rest()
	}
	if t.failed != nil {
		return errors.Join(t.failed, t.end())
	}
	if t.isShort() && t.storeSoon() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := limits.WhileScarce(ctx, t.finish); err != nil {
		t.wait(err)
		return errors.Join(t.failed, t.rest())
	}
	return nil
}

// isShort reports whether a log is complete and short.
func (t *taskLog) isShort() bool {
	return t.logs.short != nil && t.closed && t.name == "" && len(t.text) > 0 && len(t.text) <= shortText
}

// storeShort adds a short log to the short logs. If these cannot be stored at the moment, or can no longer be stored
// because the program is ending, the log gets a separate file.
func (t *taskLog) storeShort() error {
	return t.logs.zips.Compress(t.text, func(content []byte) error {
		return t.logs.short.AddLog(context.Background(), t.attempt, t.shortName(), content)
	})
}

// storeSoon is storeShort for a run that has just ended: its log will shortly be stored together with its result. If
// that fails, the log joins the late logs.
func (t *taskLog) storeSoon() error {
	return t.logs.zips.Compress(t.text, func(content []byte) error {
		return t.logs.short.AddLogSoon(t.attempt, t.shortName(), bytes.Clone(content), func(err error) {
			if err != nil {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.putOff(err)
			}
		})
	})
}

func (t *taskLog) shortName() string {
	return tasklog.Name(t.task, t.logs.agent, t.logs.names.unique(t.began))
}
