package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// Text is gathered and stored as a separate gzip member when there is a lot of it, after a short delay, or at the end:
// the stored file is valid at all times. The delay gets longer for a log that keeps growing.
const (
	gathered      = 64 << 10
	mostMember    = 256 << 10 // bytes of text in one member
	mostGathered  = 1 << 20   // how many bytes of text wait while the database is unavailable
	moment        = 100 * time.Millisecond
	longestMoment = 2 * time.Second
	storeTime     = 30 * time.Second // time limit for storing one part, and for ending a log
)

// taskLog is one run's log.
type taskLog struct {
	logs    *Logs
	attempt int64
	task    string
	source  string // the source of its lines

	mu      sync.Mutex
	text    []byte // not stored yet
	began   time.Time
	size    int64 // the size of the text in the file
	last    byte  // the last byte of the text in the file; 0 when there is none
	behind  bool  // the last store failed: the timer makes the next one
	missing gap   // text that arrived when the memory limit was reached
	timer   *time.Timer
	wait    time.Duration
	closed  bool

	storing sync.Mutex // guards the following fields; it is taken first
	name    string     // the file's name; "" before anything is stored
	part    int64      // the number of the last stored part
	member  []byte     // the next part, if the outcome of storing it is unknown; else nil
	covers  int        // how many bytes of text it contains
}

// gap describes text that was not kept.
type gap struct {
	lines, bytes int64
	open         bool // its last line is not complete
}

func (g *gap) add(text []byte) {
	for _, c := range text {
		if !g.open {
			g.lines++
		}
		g.open = c != '\n'
	}
	g.bytes += int64(len(text))
}

// Write appends output of a command. It never fails: see operators.Log.
func (t *taskLog) Write(p []byte) (int, error) {
	t.keep(p)
	return len(p), nil
}

// Echo appends the message of `echo>`, without a newline (engine.md 2.13).
func (t *taskLog) Echo(message string) { t.keep([]byte(message)) }

// Line appends a message from the engine.
func (t *taskLog) Line(level operators.Level, logger, message string) {
	t.keep([]byte(t.logs.form.Line(t.logs.now(), level, t.source, logger, message)))
}

func (t *taskLog) keep(p []byte) {
	if t.over(len(p)) {
		t.store(true) //nolint:errcheck // after a failure, the text is kept and storing it is retried
	}
	if t.gather(p) {
		t.store(false) //nolint:errcheck // after a failure, the text is kept and storing it is retried
	}
}

// over reports whether the file is full.
func (t *taskLog) over(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	split := t.logs.split
	return split > 0 && n > 0 && !t.closed && !t.behind && t.size+int64(len(t.text)) > split
}

// gather keeps text and reports whether so much has accumulated that the writer must wait for the database.
func (t *taskLog) gather(p []byte) (much bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(p) == 0 {
		return false
	}
	if t.behind && (t.missing.bytes > 0 || len(t.text)+len(p) > mostGathered) {
		t.missing.add(p)
		return false
	}
	if t.began.IsZero() {
		t.began = t.logs.unique()
	}
	t.text = append(t.text, p...)
	t.arm()
	return len(t.text) >= gathered && !t.behind
}

// arm schedules the rest to be stored after the delay. The lock must be held.
func (t *taskLog) arm() {
	if t.timer == nil && !t.closed && len(t.text) > 0 {
		t.timer = time.AfterFunc(t.wait, t.tick)
	}
}

func (t *taskLog) tick() {
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return
	}
	t.store(false) //nolint:errcheck // after a failure, the text is kept and storing it is retried
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer, t.wait = nil, min(2*t.wait, longestMoment)
	t.arm()
}

// store writes the gathered text and, in place of missing text, a line about the gap. With split, the log then
// continues in another file. More text may be gathered in the meantime.
func (t *taskLog) store(split bool) error {
	t.storing.Lock()
	defer t.storing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	for t.next(split) {
		if err := t.add(ctx); err != nil {
			t.fell(err)
			return fmt.Errorf("store log of task %s: %w", t.task, err)
		}
		t.stored()
	}
	return nil
}

// next creates the next part unless there already is one; it returns false if everything is stored. storing must be
// held.
func (t *taskLog) next(split bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.member != nil {
		return true
	}
	t.tellMissing()
	if len(t.text) == 0 {
		t.behind = false
		if split {
			t.name, t.part, t.size, t.last, t.began = "", 0, 0, 0, time.Time{}
		}
		return false
	}
	t.covers = min(len(t.text), mostMember)
	t.logs.zips.Compress(t.text[:t.covers], func(content []byte) error { //nolint:errcheck // to memory
		t.member = bytes.Clone(content)
		return nil
	})
	if t.name == "" {
		t.name = tasklog.Name(t.task, t.logs.agent, t.began)
	}
	return true
}

// stored drops text that is stored. storing must be held.
func (t *taskLog) stored() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = t.text[t.covers-1]
	t.size += int64(t.covers)
	t.text = t.text[:copy(t.text, t.text[t.covers:])]
	t.member, t.covers = nil, 0
}

// fell records that the log is behind.
func (t *taskLog) fell(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.behind {
		t.logs.logger.Error("the log of a task cannot be stored now", "attempt", t.attempt, "task", t.task, "error", why)
	}
	t.behind = true
}

// add stores the next part. If two processes use the same name, the time in the later one's name moves forward by a
// nanosecond. storing must be held.
func (t *taskLog) add(ctx context.Context) error {
	for {
		own, err := t.logs.db.addPart(ctx, t.attempt, t.name, t.part+1, t.member)
		switch {
		case err != nil:
			return err
		case own:
			t.part++
			return nil
		case t.part > 0:
			return errors.New("another process writes to it")
		}
		t.mu.Lock()
		t.began = t.began.Add(1)
		t.name = tasklog.Name(t.task, t.logs.agent, t.began)
		t.mu.Unlock()
	}
}

// tellMissing adds a line in place of text that was not kept, once all text before it is about to be stored. The lock
// must be held.
func (t *taskLog) tellMissing() {
	if t.missing.bytes == 0 || len(t.text) > mostMember {
		return
	}
	last := t.last
	if n := len(t.text); n > 0 {
		last = t.text[n-1]
	}
	if last != 0 && last != '\n' {
		t.text = append(t.text, '\n')
	}
	t.text = append(t.text, t.logs.form.Line(t.logs.now(), operators.Warn, t.source, "OperatorManager",
		fmt.Sprintf("%d lines (%d bytes) are missing here: the database did not accept them", t.missing.lines, t.missing.bytes))...)
	t.missing = gap{}
}

// Close stores the rest and returns an error if that is not possible.
func (t *taskLog) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	for {
		err := t.store(false)
		if err == nil || !mayPass(err) || !t.logs.db.pause(ctx, mostWait) {
			return err
		}
	}
}
