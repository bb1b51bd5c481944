package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"zerodag/internal/client"
)

// logView shows the lines of logs to people: each with the task that it is of, a heading for each run,
// and the engine's own lines without what only a program needs.
type logView struct {
	out     io.Writer
	ink     palette
	verbose bool
	width   int            // of the names of tasks
	runs    map[string]int // how many runs of a task were shown
}

// logLine finds the parts of a line of the engine: time, level, logger and message.
var logLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [-+]\d{4}) \[([A-Z]+)\] \(.*?\) ([\w.$]+): (.*)$`)
})

// logTime is the form of times in logs.
const logTime = "2006-01-02 15:04:05.000 -0700"

// isHeading says of an engine's line that it begins a run: it names the operator. A further try begins with
// one of level debug.
func isHeading(first bool, logger string) bool {
	return first && strings.HasSuffix(logger, "OperatorManager")
}

// show shows one line of a file. What has no level is what the task printed, and is never left out.
func (v *logView) show(h client.LogFile, at *logRead, line string) error {
	m := logLine().FindStringSubmatch(line)
	if m == nil {
		at.filtered = at.filtered || at.failed && isTrace(line) && !v.verbose
		if at.filtered {
			return nil
		}
		return v.write(h, "", line)
	}
	moment, level, logger, message := m[1], m[2], m[3], m[4]
	if t, err := time.Parse(logTime, moment); err == nil {
		moment = t.Local().Format("15:04:05")
	}
	heading := isHeading(at.shown == 0, logger)
	at.shown++
	at.filtered = (level == "DEBUG" || level == "TRACE") && !heading && !v.verbose
	switch {
	case at.filtered:
		return nil
	case heading:
		v.runs[h.TaskName]++
		again := ""
		if n := v.runs[h.TaskName]; n > 1 {
			again = fmt.Sprintf("try %d ", n)
		}
		return v.write(h, v.ink.dim, fmt.Sprintf("%s %s%s", moment, again, message))
	case level == "ERROR":
		at.failed = true
		return v.write(h, v.ink.red, message)
	case level == "WARN":
		return v.write(h, v.ink.yellow, "warning: "+message)
	}
	return v.write(h, v.ink.dim, message)
}

// isTrace says of a line below the message of a failure that from here on it says where in a program that
// was: what a script prints of that is in the log already.
func isTrace(line string) bool { return strings.HasPrefix(line, "\t") }

// taskInk is the colour of a task, so that those that run side by side are told apart.
func (v *logView) taskInk(name string) string {
	inks := []string{v.ink.cyan, v.ink.green, v.ink.yellow}
	sum := 0
	for _, c := range []byte(name) {
		sum = sum*31 + int(c)
	}
	return inks[(sum%len(inks)+len(inks))%len(inks)]
}

func (v *logView) write(h client.LogFile, ink, text string) error {
	name := shorten(h.TaskName, longestName)
	pad := strings.Repeat(" ", max(0, v.width-len([]rune(name))))
	if ink != "" {
		text = ink + text + v.ink.reset
	}
	_, err := fmt.Fprintf(v.out, "%s%s%s%s | %s\n", v.taskInk(h.TaskName), name, v.ink.reset, pad, text)
	return err
}

// longestName is how much of the name of a task stands before each of its lines.
const longestName = 32

// fit makes room for the names of tasks.
func (v *logView) fit(handles []client.LogFile) {
	for _, h := range handles {
		v.width = max(v.width, min(longestName, len([]rune(h.TaskName))))
	}
}
