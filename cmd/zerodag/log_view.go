package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"zerodag/internal/client"
)

// logView shows the lines of logs to people: each with the task that it is of, a heading for each run,
// and the engine's own lines without what only a program needs.
type logView struct {
	taskLines
	verbose bool
	runs    map[string]int // how many runs of a task were shown
}

// logLine finds the parts of a line of the engine: time, level, logger and message.
var logLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [-+]\d{4}) \[([A-Z]+)\] \(.*?\) ([\w.$]+): (.*)$`)
})

// logTime is the form of times in logs.
const logTime = "2006-01-02 15:04:05.000 -0700"

// logText is a line of a log, read. What a task printed has nothing but its text.
type logText struct {
	text                           string
	engine                         bool // it is the engine's
	moment, level, logger, message string
	at                             time.Time // of moment; zero where that is no time
}

func readLine(text string) logText {
	m := logLine().FindStringSubmatch(text)
	if m == nil {
		return logText{text: text}
	}
	l := logText{text: text, engine: true, moment: m[1], level: m[2], logger: m[3], message: m[4]}
	if at, err := time.Parse(logTime, l.moment); err == nil {
		l.at = at
	}
	return l
}

// isHeading says of an engine's line that it begins a run: it names the operator. A further try begins with
// one of level debug.
func isHeading(first bool, logger string) bool {
	return first && strings.HasSuffix(logger, "OperatorManager")
}

// show shows one line of a file. What has no level is what the task printed, and is never left out.
func (v *logView) show(h client.LogFile, at *logRead, l logText) error {
	if !l.engine {
		at.filtered = at.filtered || at.failed && isTrace(l.text) && !v.verbose
		if at.filtered {
			return nil
		}
		return v.write(h.TaskName, "", l.text)
	}
	moment := l.moment
	if !l.at.IsZero() {
		moment = l.at.Local().Format("15:04:05")
	}
	heading := isHeading(!at.begun, l.logger)
	at.begun = true
	at.filtered = (l.level == "DEBUG" || l.level == "TRACE") && !heading && !v.verbose
	switch {
	case at.filtered:
		return nil
	case heading:
		v.runs[h.TaskName]++
		again := ""
		if n := v.runs[h.TaskName]; n > 1 {
			again = fmt.Sprintf("try %d ", n)
		}
		return v.write(h.TaskName, v.ink.dim, fmt.Sprintf("%s %s%s", moment, again, l.message))
	case l.level == "ERROR":
		at.failed = true
		return v.write(h.TaskName, v.ink.red, l.message)
	case l.level == "WARN":
		return v.write(h.TaskName, v.ink.yellow, "warning: "+l.message)
	}
	return v.write(h.TaskName, v.ink.dim, l.message)
}

// isTrace says of a line below the message of a failure that from here on it says where in a program that
// was: what a script prints of that is in the log already.
func isTrace(line string) bool { return strings.HasPrefix(line, "\t") }

// fit makes room for the names of tasks.
func (v *logView) fit(handles []client.LogFile) {
	for _, h := range handles {
		v.taskLines.fit(h.TaskName)
	}
}
