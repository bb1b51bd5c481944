package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// console writes log lines. Lines of different tasks never mix.
// What is written shows at once, but a flood is written in larger pieces.
type console struct {
	level int
	form  tasklog.Form

	mu      sync.Mutex
	out     *bufio.Writer
	flushed time.Time
	pending bool
	failed  error
}

// logLevels are in order of weight; each shows itself and those before it.
func logLevels() []string { return []string{"error", "warn", "info", "debug", "trace"} }

const warnLevel = 1

func newConsole(out io.Writer, level string, form tasklog.Form) (*console, error) {
	n, err := levelNumber(level)
	if err != nil {
		return nil, err
	}
	return &console{level: n, form: form, out: bufio.NewWriterSize(out, 1<<16)}, nil
}

// levelNumber is the place of a level among logLevels.
func levelNumber(level string) (int, error) {
	n := slices.Index(logLevels(), level)
	if n < 0 {
		return 0, usageError{fmt.Errorf("Unknown log level '%s'", level)}
	}
	return n, nil
}

// message logs something that is said by no task.
func (c *console) message(level operators.Level, logger, text string) {
	c.line(level, tasklog.Main, logger, text)
}

func (c *console) shows(level operators.Level) bool { return levelShows(c.level, level) }

// levelShows says whether a place among logLevels shows lines of a level.
func levelShows(most int, level operators.Level) bool {
	for i, name := range logLevels() {
		if strings.EqualFold(name, string(level)) {
			return i <= most
		}
	}
	return true
}

func (c *console) line(level operators.Level, source, logger, text string) {
	if c.shows(level) {
		c.write(c.form.Line(time.Now(), level, source, logger, text))
	}
}

// flushEvery bounds how long output may lie in the buffer.
const flushEvery = 10 * time.Millisecond

// Write implements io.Writer; flush returns its error.
func (c *console) Write(p []byte) (int, error) {
	c.write(string(p))
	return len(p), nil
}

func (c *console) write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.out.WriteString(text); err != nil && c.failed == nil {
		c.failed = fmt.Errorf("write log: %w", err)
	}
	switch now := time.Now(); {
	case now.Sub(c.flushed) > flushEvery:
		c.flushed = now
		c.out.Flush()
	case !c.pending:
		c.pending = true
		time.AfterFunc(flushEvery, func() { c.flush() })
	}
}

// flush writes what is buffered and returns the first error there was.
func (c *console) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = false
	if err := c.out.Flush(); err != nil && c.failed == nil {
		c.failed = fmt.Errorf("write log: %w", err)
	}
	return c.failed
}

// consoleLog is a task's log on the console.
type consoleLog struct {
	*console
	source string
}

func (c *console) taskLog(id operators.Identity) operators.Log {
	return consoleLog{c, c.form.Source(id)}
}

func (l consoleLog) Write(p []byte) (int, error) {
	l.write(string(p))
	return len(p), nil
}

func (l consoleLog) Echo(message string) { l.write(message + "\n") }

func (l consoleLog) Line(level operators.Level, logger, message string) {
	l.line(level, l.source, logger, message)
}
