package files

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"zerodag/internal/limits"
)

// Limits for text that cannot be stored yet: bytes of one log, bytes of all logs, and the number of logs, some of which
// may have lost all their text.
const (
	mostGathered = 4 << 20
	mostLate     = 64 << 20
	mostLateLogs = 50_000
	lateAgain    = time.Second
	holdResult   = time.Minute // how long a run's result waits for its log
)

// late holds the logs whose text cannot be stored at the moment: the text is kept in memory and stored as soon as
// possible. Text beyond the limits is dropped and counted, and each log states how much it lacks.
type late struct {
	logger *slog.Logger

	mu      sync.Mutex
	logs    []*taskLog // in the order in which they fell behind
	bytes   int64
	timer   *time.Timer
	cause   error // why the last one could not be stored
	missing gap   // the missing text of all logs since the first of them fell behind
	runs    int   // how many logs were lost completely
	closed  bool
}

// gap is text that was not kept.
type gap struct {
	lines, bytes int64
	open         bool // its last line is not finished yet
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

// String describes how much text is missing.
func (g gap) String() string { return fmt.Sprintf("%d lines (%d bytes)", g.lines, g.bytes) }

// passes reports whether the reason why a log could not be stored may be temporary.
func passes(err error) bool {
	return limits.Full(err) || limits.Scarce(err) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EROFS)
}

// reason describes why text is missing, without a path.
func reason(err error) string {
	if limits.Full(err) {
		return "the disk was full"
	}
	var cause syscall.Errno
	if errors.As(err, &cause) {
		return "it could not be written: " + cause.Error()
	}
	return "it could not be written"
}

// take reserves memory for text; it returns false if there is no more.
func (l *late) take(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+int64(n) > mostLate {
		return false
	}
	l.bytes += int64(n)
	return true
}

// remove removes a log that is no longer waiting, and releases its memory.
func (l *late) remove(t *taskLog, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= int64(n)
	l.logs = slices.DeleteFunc(l.logs, func(x *taskLog) bool { return x == t })
}

// add adds a log unless there are too many.
func (l *late) add(t *taskLog, why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.logs) >= mostLateLogs {
		return false
	}
	if len(l.logs) == 0 && l.runs == 0 {
		l.logger.Error("task logs cannot be stored: they are kept in memory and stored as soon as possible", "error", why)
	}
	l.cause = why
	l.logs = append(l.logs, t)
	l.wake()
	return true
}

// wake retries the logs after a moment. The lock is held.
func (l *late) wake() {
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(lateAgain, l.again)
	}
}

// lose counts a log for which there is no memory, or text that is missing from a log.
func (l *late) lose(whole bool, g gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if whole {
		l.runs++
		l.wake()
	}
	l.missing.lines += g.lines
	l.missing.bytes += g.bytes
}

// trouble returns the reason why logs cannot be stored; nil if none are waiting.
func (l *late) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.logs) == 0 {
		return nil
	}
	return l.cause
}

// again stores waiting text, and repeats this while there is more.
func (l *late) again() {
	l.store()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if len(l.logs) > 0 {
		l.wake()
		return
	}
	l.tell("task logs are stored again")
}

// tell logs how much is missing once no logs are waiting. The lock is held.
func (l *late) tell(what string) {
	if l.missing.lines > 0 || l.runs > 0 {
		l.logger.Error(what+", but some of their text is missing: the logs show where", "missing", l.missing.String(), "whole logs", l.runs)
	} else if l.cause != nil {
		l.logger.Info(what)
	}
	l.missing, l.runs, l.cause = gap{}, 0, nil
}

// store tries each log once. If the disk is full for one log, it is full for the next.
func (l *late) store() {
	l.mu.Lock()
	list := slices.Clone(l.logs)
	l.mu.Unlock()
	for _, t := range list {
		err := t.catchUp()
		if err == nil {
			continue
		}
		l.mu.Lock()
		l.cause = err
		l.mu.Unlock()
		if limits.Full(err) {
			return
		}
	}
}

// Settle stores the logs of ended runs of an attempt before their results are stored. A result waits for its log for at
// most holdResult; unstored lists the tasks whose results no longer wait for their logs.
func (l *Logs) Settle(attempt int64) (unstored []string, err error) {
	for _, t := range l.late.of(attempt) {
		late, err := t.settle()
		if err != nil {
			return nil, err
		}
		if late {
			unstored = append(unstored, t.task)
		}
	}
	return unstored, nil
}

// of returns an attempt's waiting logs.
func (l *late) of(attempt int64) (list []*taskLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.logs {
		if t.attempt == attempt {
			list = append(list, t)
		}
	}
	return list
}

// close tries to store waiting text one last time.
func (l *late) close() error {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.store()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.logs); n > 0 {
		return fmt.Errorf("the logs of %d task runs could not be stored and are lost: %w", n, l.cause)
	}
	if l.runs > 0 || l.cause != nil {
		l.tell("task logs are stored")
	}
	return nil
}
