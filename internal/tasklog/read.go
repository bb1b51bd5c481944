package tasklog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"zerodag/operators"
)

// engineLine finds the parts of an engine line in either form: time, level and message.
var engineLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [-+]\d{4}) \[([A-Z]+)\] (?:\(.*?\) [\w.$]+|\+.*?): (.*)$`)
})

// operatorNamed matches the message in which a run names its operator: `sh>: make`, or `type: sh`.
var operatorNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[^\s:]+>|type): `) })

// timeForm is the form of times in logs.
const timeForm = "2006-01-02 15:04:05.000 -0700"

// Text is a parsed log line. A task's output has only its text.
type Text struct {
	Text                   string
	Engine                 bool // it is a message from the engine
	Moment, Level, Message string
	At                     time.Time // the time in Moment; zero if that is not a time
}

// Read reads a line without its end.
func Read(line string) Text {
	m := engineLine().FindStringSubmatch(line)
	if m == nil {
		return Text{Text: line}
	}
	t := Text{Text: line, Engine: true, Moment: m[1], Level: m[2], Message: m[3]}
	if at, err := time.Parse(timeForm, t.Moment); err == nil {
		t.At = at
	}
	return t
}

// NamesOperator reports whether a message from the engine names a run's operator, as the first message of a run does.
func NamesOperator(level operators.Level, message string) bool {
	return (level == operators.Info || level == operators.Debug) && operatorNamed().MatchString(message)
}

// Last returns the last lines that a task printed, at most n, from its gzip-compressed log file.
func Last(file io.Reader, n int) ([]string, error) {
	z, err := gzip.NewReader(file)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	said := false // the engine's lines about the failure, up to the next line with a level, are not output
	for in := bufio.NewReader(z); ; {
		line, err := in.ReadString('\n')
		text := strings.TrimRight(line, "\r\n")
		if read := Read(text); read.Engine {
			said = read.Level == "ERROR"
		} else if text != "" && !said {
			if lines = append(lines, text); len(lines) > n {
				lines = lines[1:]
			}
		}
		if err != nil {
			return lines, nil //nolint:nilerr // a file that is being written may end anywhere
		}
	}
}
