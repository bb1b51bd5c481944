package dig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"zerodag/engine/param"
)

// ErrNotFound is wrapped by a Source if the file does not exist. The error may have a method Hint() string that explains
// why.
var ErrNotFound = errors.New("file not found")

// Error is one mistake in a project, described for its author.
type Error struct {
	File         string // slash path in the project; "" if the config came from no file
	Line, Column int    // from 1; 0 when unknown
	Task         string // full name of the task, "" outside of tasks
	Message      string // what is wrong
	Hint         string // how to fix it; may be ""
}

// Error renders "file:line:column: message (task)" and the hint on a second line. Without a file it is only the
// message, which a task's error shows.
func (e Error) Error() string {
	if e.File == "" {
		return e.Message
	}
	var b strings.Builder
	b.WriteString(fileText(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.Message)
	if e.Task != "" && !strings.Contains(e.Message, e.Task) {
		b.WriteString(" (task " + e.Task + ")")
	}
	if e.Hint != "" {
		b.WriteString("\n  " + e.Hint)
	}
	return b.String()
}

// PlaceBehind renders all errors with the place after the message, "message (file:line:column)": programs that parse
// Digdag's output expect the message first.
func (e Errors) PlaceBehind() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Message
		if one.File != "" {
			lines[i] += " (" + fileText(one.File)
			if one.Line > 0 {
				lines[i] += fmt.Sprintf(":%d:%d", one.Line, one.Column)
			}
			lines[i] += ")"
		}
		if one.Hint != "" {
			lines[i] += "\n  " + one.Hint
		}
	}
	return strings.Join(lines, "\n")
}

// fileText returns a file name for use within a line: a line break in the name must not start a new line.
func fileText(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return strconv.Quote(name)
	}
	return name
}

// Unwrap makes every Error a *param.ConfigError: a retry cannot help.
func (e Error) Unwrap() error { return &param.ConfigError{Message: e.Message} }

// Errors lists everything that is wrong, ordered by file and position. It is never empty if it is returned as an error.
type Errors []Error

// Error lists all errors, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As find each single Error.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// AsError sorts the list and returns nil for an empty one.
func (e Errors) AsError() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(e)
}

// maxReported limits one file's errors, since no user reads more.
const maxReported = 100

// Problem is an Error whose place is still a path of keys from the workflow's root.
type Problem struct {
	Path []string
	also []further
	Error
}

// further is another key, in the same mapping, that a problem's message also names. As in Digdag, there is a single
// message, placed at the first key.
type further struct{ key, hint string }

// furtherKey returns a further key with its own hint, unless the message already has that hint.
func furtherKey(key, hint, told string) further {
	switch {
	case hint == "" || hint == told:
		hint = "'" + key + "'"
	case !strings.Contains(hint, key):
		hint = "'" + key + "': " + hint
	}
	return further{key, hint}
}

// unplaced converts problems of a config without a file into Errors.
func unplaced(problems []Problem) error {
	var list Errors
	for _, p := range problems[:min(len(problems), maxReported)] {
		list = append(list, p.Error)
	}
	return list.AsError()
}

// Once drops duplicates: several workflows may include one file.
func Once(all Errors) Errors {
	said := map[Error]bool{}
	return slices.DeleteFunc(all, func(e Error) bool {
		again := said[e]
		said[e] = true
		return again
	})
}

// missingHint returns the hint about a file that does not exist: the Source's hint or, if it has none, the text in
// `otherwise`.
func missingHint(err error, otherwise string) string {
	var explained interface{ Hint() string }
	if errors.As(err, &explained) {
		return explained.Hint()
	}
	return otherwise
}
