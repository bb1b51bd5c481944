package attemptview

import (
	"fmt"
	"strings"

	"zerodag/engine"
	"zerodag/internal/client"
	"zerodag/internal/tasklog"
	"zerodag/internal/taskview"
	"zerodag/operators"
)

// logView shows log lines to users: each with its task, a heading for each run, and the engine's own lines without
// parts that only programs need.
type logView struct {
	taskview.Lines
	verbose bool
	runs    map[string]int // how many runs of a task have been shown
}

// show shows one line of a file. A line without a level is task output, and is always shown.
func (v *logView) show(h client.LogFile, at *logRead, l tasklog.Text) error {
	if !l.Engine {
		at.filtered = at.filtered || at.failed && isTrace(l.Text) && !v.verbose
		if at.filtered {
			return nil
		}
		return v.Show(h.TaskName, "", l.Text)
	}
	moment := l.Moment
	if !l.At.IsZero() {
		moment = l.At.Local().Format("15:04:05")
	}
	heading := !at.begun && tasklog.NamesOperator(operators.Level(l.Level), l.Message) // a retry begins with a debug line
	at.begun = true
	at.filtered = v.isDetail(l.Level) && !heading || v.quiet(h.TaskName, l.Level)
	switch {
	case at.filtered:
		return nil
	case heading:
		v.runs[h.TaskName]++
		again := ""
		if n := v.runs[h.TaskName]; n > 1 {
			again = fmt.Sprintf("try %d ", n)
		}
		return v.Show(h.TaskName, v.Ink.Dim, fmt.Sprintf("%s %s%s", moment, again, l.Message))
	case l.Level == "ERROR":
		at.failed = true
		return v.Show(h.TaskName, v.Ink.Red, taskview.Plainly(h.TaskName, l.Message))
	case l.Level == "WARN":
		return v.Show(h.TaskName, v.Ink.Yellow, "warning: "+l.Message)
	}
	return v.Show(h.TaskName, v.Ink.Dim, l.Message)
}

// isDetail reports whether lines of the given level are shown only if all details are requested.
func (v *logView) isDetail(level string) bool {
	return !v.verbose && (level == "DEBUG" || level == "TRACE")
}

// quiet reports whether one of the engine's lines is only about sending a failure notice.
func (v *logView) quiet(task, level string) bool {
	return strings.HasSuffix(task, engine.FailureAlert) && !v.verbose && level != "ERROR" && level != "WARN"
}

// isTrace reports whether a line below the message of a failure begins a stack trace. The log already contains the
// trace of a script.
func isTrace(line string) bool { return strings.HasPrefix(line, "\t") }

// fit makes room for task names.
func (v *logView) fit(handles []client.LogFile) {
	for _, h := range handles {
		if !strings.HasSuffix(h.TaskName, engine.FailureAlert) {
			v.Lines.Fit(h.TaskName)
		}
	}
}
