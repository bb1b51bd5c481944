package logstream

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

// Level selects which lines of a log are shown: lines of this severity or above.
type Level int

// Warn shows only warnings and errors.
const Warn Level = 1

// Levels returns the names of the levels, the most severe first; each level shows its own lines and the lines of the
// levels before it.
func Levels() []string { return []string{"error", "warn", "info", "debug", "trace"} }

// LevelOf returns the level with a name, and reports whether it exists.
func LevelOf(name string) (Level, bool) {
	n := slices.Index(Levels(), name)
	return Level(n), n >= 0
}

// Shows reports whether l shows lines of a level; lines of unknown levels are shown.
func (l Level) Shows(level operators.Level) bool {
	for i, name := range Levels() {
		if strings.EqualFold(name, string(level)) {
			return Level(i) <= l
		}
	}
	return true
}

// Stream writes log lines. Lines of different tasks never mix. Text is shown at once, but large amounts are written in
// larger pieces.
type Stream struct {
	level Level
	form  tasklog.Form

	mu      sync.Mutex
	out     *bufio.Writer
	flushed time.Time
	pending bool
	failed  error
}

// New returns a stream that writes lines of a level or above in a format. The caller must flush it at the end.
func New(out io.Writer, level Level, form tasklog.Form) *Stream {
	return &Stream{level: level, form: form, out: bufio.NewWriterSize(out, 1<<16)}
}

// Message writes a line that does not concern a task.
func (s *Stream) Message(level operators.Level, logger, text string) {
	s.line(level, tasklog.Main, logger, text)
}

// Limit reduces the output of the stream to a level. It must be called before other goroutines write.
func (s *Stream) Limit(level Level) { s.level = min(s.level, level) }

// Level returns the stream's level.
func (s *Stream) Level() Level { return s.level }

// Form returns the lines' format.
func (s *Stream) Form() tasklog.Form { return s.form }

// Shows reports whether lines of a level are written.
func (s *Stream) Shows(level operators.Level) bool { return s.level.Shows(level) }

func (s *Stream) line(level operators.Level, source, logger, text string) {
	if s.Shows(level) {
		s.write(s.form.Line(time.Now(), level, source, logger, text))
	}
}

// flushEvery limits how long output may stay in the buffer.
const flushEvery = 10 * time.Millisecond

// Write implements io.Writer; Flush returns its error.
func (s *Stream) Write(p []byte) (int, error) {
	s.write(string(p))
	return len(p), nil
}

func (s *Stream) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.WriteString(text); err != nil && s.failed == nil {
		s.failed = fmt.Errorf("write log: %w", err)
	}
	switch now := time.Now(); {
	case now.Sub(s.flushed) > flushEvery:
		s.flushed = now
		s.out.Flush()
	case !s.pending:
		s.pending = true
		time.AfterFunc(flushEvery, func() { s.Flush() })
	}
}

// Flush writes the buffer and returns the first error that occurred.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = false
	if err := s.out.Flush(); err != nil && s.failed == nil {
		s.failed = fmt.Errorf("write log: %w", err)
	}
	return s.failed
}

// streamLog is a task's log in the stream.
type streamLog struct {
	*Stream
	source string
}

// Task returns the log of one run of a task.
func (s *Stream) Task(id operators.Identity) operators.Log {
	return streamLog{s, s.form.Source(id)}
}

// Write implements operators.Log.
func (l streamLog) Write(p []byte) (int, error) {
	l.write(string(p))
	return len(p), nil
}

// Echo implements operators.Log.
func (l streamLog) Echo(message string) { l.write(message + "\n") }

// Line implements operators.Log.
func (l streamLog) Line(level operators.Level, logger, message string) {
	l.line(level, l.source, logger, message)
}
