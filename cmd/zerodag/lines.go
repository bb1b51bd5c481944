package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"zerodag/operators"
)

// taskLines writes lines of logs, each beside the task that it is of.
type taskLines struct {
	out   io.Writer
	ink   palette
	width int  // of the names of tasks
	whole bool // names are not shortened
}

// longestName is how much of the name of a task stands before each of its lines.
const longestName = 32

// fit makes room for the name of a task.
func (v *taskLines) fit(name string) { v.width = max(v.width, min(longestName, len([]rune(name)))) }

// write writes one line in a colour.
func (v *taskLines) write(task, ink, text string) error {
	name := task
	if !v.whole {
		name = shorten(task, longestName)
	}
	pad := strings.Repeat(" ", max(0, v.width-len([]rune(name))))
	if ink != "" {
		text = ink + text + v.ink.reset
	}
	_, err := fmt.Fprintf(v.out, "%s%s%s%s | %s\n", v.taskInk(task), name, v.ink.reset, pad, text)
	return err
}

// taskInk is the colour of a task, so that those that run side by side are told apart.
func (v *taskLines) taskInk(name string) string {
	inks := []string{v.ink.cyan, v.ink.green, v.ink.yellow}
	sum := 0
	for _, c := range []byte(name) {
		sum = sum*31 + int(c)
	}
	return inks[(sum%len(inks)+len(inks))%len(inks)]
}

// lineSink is told what tasks print and what the engine says of them.
type lineSink interface {
	printed(task, line string)
	said(task string, first bool, level operators.Level, message string)
}

// longestLine is how much of a line is kept until it ends; of a longer one the parts are lines.
const longestLine = 64 << 10

// lineLog is the log of one run of a task, line by line.
type lineLog struct {
	sink lineSink
	task string

	mu    sync.Mutex
	rest  []byte // the beginning of a line whose end has not come
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

// Close ends the last line: the run is over.
func (l *lineLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	return nil
}
