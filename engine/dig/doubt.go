package dig

import (
	"bytes"
	"fmt"
	"gopkg.in/yaml.v3"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// octal matches a plain number that begins with 0, which Digdag reads as base 8.
var octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?0[0-7_]+$`) })

// version matches a plain number that was probably meant as a version and would lose its final 0.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9]\d*\.[1-9]0$`) })

// doubt records a scalar whose value is probably not what its author expects.
func (r *reader) doubt(n *yaml.Node) {
	if r.doubts != nil && n.Style == 0 && version().MatchString(n.Value) {
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is a version or text", n.Value), "%s is the number %s", n.Value, strings.TrimSuffix(n.Value, "0"))
		return
	}
	if r.doubts == nil || n.Style != 0 || n.Value == "" {
		return
	}
	if !octal().MatchString(n.Value) {
		r.large(n)
		return
	}
	if v, err := scalar(n); err == nil && strings.Trim(n.Value, "+") != param.Text(v) {
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is text", n.Value), "%s begins with 0, so it is read in base 8 as the number %s", n.Value, param.Text(v))
	}
}

// rest returns the text from a node to the end of its line.
func (r *reader) rest(n *yaml.Node) []byte {
	if r.lines == nil {
		r.lines = bytes.Split(r.text, []byte("\n"))
	}
	if n.Line < 1 || n.Line > len(r.lines) {
		return nil
	}
	line := []rune(string(r.lines[n.Line-1]))
	return []byte(string(line[min(max(n.Column-1, 0), len(line)):]))
}

func (r *reader) noteDoubt(n *yaml.Node, hint, format string, args ...any) {
	if len(*r.doubts) < maxReported {
		*r.doubts = append(*r.doubts, Error{File: r.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}
