// Package tasklog is the form of task logs, which is Digdag's: their lines and the names of
// their files.
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

// Line is one message in the form of the original's logs (engine.md 2.13), with
// the newline at its end. logger is short, as operators say it.
func Line(at time.Time, level operators.Level, thread, logger, message string) string {
	var b strings.Builder
	b.Grow(len(message) + len(thread) + 100)
	b.WriteString(at.Format("2006-01-02 15:04:05.000 -0700"))
	for _, part := range []string{" [", string(level), "] (", thread, ") ", loggerName(logger), ": ", message, "\n"} {
		b.WriteString(part)
	}
	return b.String()
}

// Thread is how the original names the thread of a task in its log lines.
func Thread(id operators.Identity) string {
	return fmt.Sprintf("%04d@[%d:%s:%d:%d]%s", id.TaskID, id.SiteID, id.ProjectName, id.SessionID, id.AttemptID, id.TaskName)
}

// loggerName gives the names that the original's log lines carry. Whole names stay.
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
