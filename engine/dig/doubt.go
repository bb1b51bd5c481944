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

// octal is a plain number that begins with 0 and so is one of base 8, as in the original.
var octal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?0[0-7_]+$`) })

// version is a plain number that may be meant as a version, whose last 0 a number does not have.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9]\d*\.[1-9]0$`) })

// doubt notes a scalar whose value is hardly what its author reads in it.
func (r *reader) doubt(n *yaml.Node) {
	if r.doubts != nil && n.Style == 0 && version().MatchString(n.Value) {
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is a version or a text", n.Value), "%s is the number %s", n.Value, strings.TrimSuffix(n.Value, "0"))
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
		r.noteDoubt(n, fmt.Sprintf("quote it, as in '%s', if it is a text", n.Value), "%s begins with 0, and so is the number %s, written in base 8", n.Value, param.Text(v))
	}
}

// rest is the text from a node to the end of its line.
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
