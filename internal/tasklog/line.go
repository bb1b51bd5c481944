// Package tasklog defines the format of task logs: their lines and the names of their files.
//
// The drivers that keep logs call it, as does the command line, which shows them. It must never open a file or a
// connection.
package tasklog

import (
	"fmt"
	"strings"
	"time"

	"zerodag/operators"
)

// Form is the form of the engine's lines in a log. The zero value means Short.
type Form string

// The forms. Readers understand both.
const (
	// Short lines name the task: `2026-01-02 03:04:05.006 +0000 [INFO] +w+t: echo>: hi`.
	Short Form = "short"
	// Digdag lines add the Java thread and the Java class of Digdag (engine.md 2.13), for programs that parse them:
	// `2026-01-02 03:04:05.006 +0000 [INFO] (0042@[0:p:7:8]+w+t) io.digdag.core.agent.OperatorManager: echo>: hi`.
	Digdag Form = "digdag"
)

// Line returns one message's line, with a newline at its end. source identifies the subject of the message, as Source
// returns it, or is Main for the program itself. logger is the short name that operators use.
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

// Main is the source of messages from the program itself.
const Main = "main"

// Source returns the name that lines use for a task: its own name, or Digdag's name for the thread that runs it.
func (f Form) Source(id operators.Identity) string {
	if f != Digdag {
		return id.TaskName
	}
	return fmt.Sprintf("%04d@[%d:%s:%d:%d]%s", id.TaskID, id.SiteID, id.ProjectName, id.SessionID, id.AttemptID, id.TaskName)
}

// loggerName returns the name of the Java class in Digdag. Full class names stay unchanged.
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
