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

// ErrNotFound is what a Source wraps when there is no such file.
var ErrNotFound = errors.New("file not found")

// Error is one thing that is wrong with a project, said to its author.
type Error struct {
	File         string // slash path in the project; "" when the config came from no file
	Line, Column int    // from 1; 0 when unknown
	Task         string // full name of the task, "" outside of tasks
	Message      string // what is wrong
	Hint         string // how to mend it; may be ""
}

// Error renders "file:line:column: message (task)" and the hint on a second line.
// Without a file it is the bare message: that is what a task's error shows.
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

// PlaceBehind renders all of them with the place behind the message, "message (file:line:column)": programs that read
// what the original says look for the message first.
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

// fileText is the name of a file as a line of text has it: one with the end of a line in it must not begin another.
func fileText(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return strconv.Quote(name)
	}
	return name
}

// Unwrap makes every Error a *param.ConfigError: trying again cannot help.
func (e Error) Unwrap() error { return &param.ConfigError{Message: e.Message} }

// Errors is everything that is wrong, ordered by file and position. It is never empty
// when it is returned as an error.
type Errors []Error

// Error lists all of them, one below the other.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.Is and errors.As each single Error.
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

// maxReported bounds the errors of one file: no user reads more.
const maxReported = 100

// Problem is an Error whose place is still a path of keys from the workflow's root.
type Problem struct {
	Path []string
	also []further
	Error
}

// further is another key of the mapping that a problem is in, which its message names too. The message is one, as in the original, and its
// place is that of the first key.
type further struct{ key, hint string }

// furtherKey is a further key with its own hint, unless that was told of the message.
func furtherKey(key, hint, told string) further {
	switch {
	case hint == "" || hint == told:
		hint = "'" + key + "'"
	case !strings.Contains(hint, key):
		hint = "'" + key + "': " + hint
	}
	return further{key, hint}
}

// unplaced turns problems of a config without file into Errors.
func unplaced(problems []Problem) error {
	var list Errors
	for _, p := range problems[:min(len(problems), maxReported)] {
		list = append(list, p.Error)
	}
	return list.AsError()
}

// Once drops what was said before: several workflows may include one file.
func Once(all Errors) Errors {
	said := map[Error]bool{}
	return slices.DeleteFunc(all, func(e Error) bool {
		again := said[e]
		said[e] = true
		return again
	})
}
