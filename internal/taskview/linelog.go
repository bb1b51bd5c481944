package taskview

import (
	"bytes"
	"strings"
	"sync"

	"zerodag/operators"
)

// lineSink receives task output and the engine's messages about tasks.
type lineSink interface {
	printed(task, line string)
	said(task string, first bool, level operators.Level, message string)
}

// longestLine is how much of a line is kept until it ends; longer lines are split.
const longestLine = 64 << 10

// lineLog is the log of one task run, line by line.
type lineLog struct {
	sink lineSink
	task string

	mu    sync.Mutex
	rest  []byte // the beginning of an incomplete line
	begun bool
}

// Write implements operators.Log.
func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		l.sink.printed(l.task, string(l.rest)+string(p[:end]))
		l.rest, p = l.rest[:0], p[end+1:]
	}
	if l.rest = append(l.rest, p...); len(l.rest) > longestLine {
		l.flush()
	}
	return n, nil
}

func (l *lineLog) flush() {
	if len(l.rest) > 0 {
		l.sink.printed(l.task, string(l.rest))
		l.rest = l.rest[:0]
	}
}

// Echo implements operators.Log.
func (l *lineLog) Echo(message string) {
	for line := range strings.SplitSeq(message, "\n") {
		l.sink.printed(l.task, line)
	}
}

// Line implements operators.Log.
func (l *lineLog) Line(level operators.Level, logger, message string) {
	l.mu.Lock()
	l.flush()
	first := !l.begun
	l.begun = true
	l.mu.Unlock()
	l.sink.said(l.task, first, level, message)
}

// Close completes the last line because the run has ended.
func (l *lineLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	return nil
}
