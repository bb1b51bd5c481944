package dig

import "fmt"

// Limits on workflow text. They are checked before the text is parsed, because parsing takes a few hundred bytes of
// memory per element. Ten thousand tasks with ten keys each are within the limits.
const (
	MaxFile         = 2 << 20  // bytes of one file
	maxText         = 16 << 20 // bytes of all files that a single Load reads
	maxElements     = 250_000  // of one file
	maxTextElements = 500_000  // of all files that one Load reads
)

// amount counts what a Load has read so far.
type amount struct {
	bytes, elements int
	over            bool // over a limit
}

// admit checks whether a file's text may be parsed; it returns nil if it may.
func (r *amount) admit(file string, text []byte) *Error {
	if len(text) > MaxFile {
		return beyond(file, "is %d bytes long, but a workflow file may have at most %d", len(text), MaxFile)
	}
	elements := elementsOf(text)
	r.bytes += len(text)
	r.elements += elements
	r.over = r.bytes > maxText || r.elements > maxTextElements
	switch {
	case elements > maxElements:
		return beyond(file, "has %d keys, list items and lines, but a workflow file may have at most %d", elements, maxElements)
	case r.bytes > maxText:
		return beyond(file, "with this file, the workflow files of the project and their includes exceed %d bytes in total", maxText)
	case r.elements > maxTextElements:
		return beyond(file, "with this file, the workflow files of the project and their includes exceed %d keys, list items and lines in total", maxTextElements)
	}
	return nil
}

func beyond(file, format string, args ...any) *Error {
	return &Error{File: file, Message: fmt.Sprintf(format, args...),
		Hint: "generate tasks with a loop (for_each>, loop>), read data in a task, or split the project"}
}

// elementsOf counts the characters that can begin a key, a list item or a line. There are never fewer such characters
// than elements.
func elementsOf(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case ',', '[', '{', ':', '\n', '\r':
			n++
		case '-', '?': // an item or a key in block style
			if i+1 == len(text) || text[i+1] <= ' ' || text[i+1] >= 0x80 {
				n++
			}
		case 0x85, 0xa8, 0xa9: // the last byte of a Unicode line break
			n++
		}
	}
	return n
}
