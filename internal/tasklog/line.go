// Package tasklog defines the form of task logs: their lines and the names of their files.
//
// The drivers that keep logs call it, and the command line, which shows them. It must
// never open anything.
package tasklog

import (
	"fmt"
	"strings"
	"time"

	"zerodag/operators"
)

// Form is how the lines of the engine read in a log. The zero value is Short.
type Form string

// The forms; readers understand both.
const (
	// Short names the task: `2026-01-02 03:04:05.006 +0000 [INFO] +w+t: echo>: hi`.
	Short Form = "short"
	// Digdag adds the Java thread and the Java class of Digdag (engine.md 2.13), for programs that parse them:
	// `2026-01-02 03:04:05.006 +0000 [INFO] (0042@[0:p:7:8]+w+t) io.digdag.core.agent.OperatorManager: echo>: hi`.
	Digdag Form = "digdag"
)

// Line is one message with the newline at its end. source is what the message is about, as Source returns it, or "main"
// for the program itself. logger is short, as operators give it.
func (f Form) Line(at time.Time, level operators.Level, source, logger, message string) string {
	var b strings.Builder
	b.Grow(len(message) + len(source) + 100)
	b.WriteString(at.Format(timeForm))
	for _, part := range []string{" [", string(level), "] "} {
		b.WriteString(part)
	}
	switch {
	case f == Digdag:
		for _, part := range []string{"(", source, ") ", loggerName(logger), ": "} {
			b.WriteString(part)
		}
	case source != Main:
		b.WriteString(source)
		b.WriteString(": ")
	}
	b.WriteString(message)
	b.WriteByte('\n')
	return b.String()
}

// Main is the source of messages of the program itself.
const Main = "main"

// Source is how lines name a task: its name, or Digdag's name for the thread that runs it.
func (f Form) Source(id operators.Identity) string {
	if f != Digdag {
		return id.TaskName
	}
	return fmt.Sprintf("%04d@[%d:%s:%d:%d]%s", id.TaskID, id.SiteID, id.ProjectName, id.SessionID, id.AttemptID, id.TaskName)
}

// loggerName returns the name of a Java class of Digdag. Whole names stay.
func loggerName(short string) string {
	switch {
	case strings.Contains(short, "."):
		return short
	case short == "OperatorManager":
		return "io.digdag.core.agent.OperatorManager"
	case short == "Run$OperatorManagerWithSkip":
		return "io.digdag.cli.Run$OperatorManagerWithSkip"
	}
	return "io.digdag.standards.operator." + short
}
