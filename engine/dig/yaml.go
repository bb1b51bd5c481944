package dig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"zerodag/engine/param"
)

// MaxDepth limits the nesting of collections: deeper text is an attack or an accident.
const MaxDepth = 500

// ParseYAML reads one YAML document in the language's subset (language.md 1.2), without !include: parameter files use
// it. Empty text yields nil. file is for messages.
func ParseYAML(file string, text []byte) (param.Value, error) {
	p := &project{budget: maxExpansion, seen: &amount{}}
	v, _ := p.open(file, nil, text, 0)
	return v, p.errs.AsError()
}

// ParseLocated is like ParseYAML, and also returns a function that finds the place of a key in a mapping that was read,
// or the zero Place if that is unknown.
func ParseLocated(file string, text []byte) (param.Value, func(m *param.Map, key string) Place, error) {
	p := &project{budget: maxExpansion, seen: &amount{}, places: map[*param.Map][]position{}}
	v, _ := p.open(file, nil, text, 0)
	at := func(m *param.Map, key string) Place {
		found := p.find(m, []string{key})
		return Place{found.file, found.line, found.column}
	}
	return v, at, p.errs.AsError()
}

// document parses text into the node of its single document; nil for empty text.
func document(file string, text []byte) (root *yaml.Node, fault *Error) {
	if fault = invalidText(file, text); fault != nil {
		return nil, fault
	}
	// The parser is third-party code with a history of panics on odd input, and this text comes from strangers: a panic
	// counts as "not YAML".
	defer func() {
		if p := recover(); p != nil {
			root, fault = nil, &Error{File: file, Message: fmt.Sprintf("cannot read this as YAML: %v", p)}
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := d.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(file, text, err)
	}
	if err := d.Decode(&second); err == nil {
		return nil, &Error{File: file, Line: second.Line, Column: second.Column,
			Message: "expected a single document in the stream but found another document",
			Hint:    `remove the "---" line: one file is one workflow`}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, text, err)
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}

// invalidText finds input that is not text before the parser sees it.
func invalidText(file string, text []byte) *Error {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			line, column := place(text, at)
			return &Error{File: file, Line: line, Column: column,
				Message: fmt.Sprintf("byte 0x%02x is not UTF-8 text", text[at]),
				Hint:    "save the file as UTF-8; a workflow cannot be a binary file"}
		}
		if isControl(r) {
			line, column := place(text, at)
			return &Error{File: file, Line: line, Column: column,
				Message: fmt.Sprintf("control character %U is not allowed", r),
				Hint:    `remove it, or write it as "\x.." in double quotes`}
		}
		at += n
	}
	return nil
}

// isControl reports whether YAML 1.1 considers a character non-printable.
func isControl(r rune) bool {
	switch r {
	case '\t', '\n', '\r', 0x85:
		return false
	}
	return r < ' ' || 0x7f <= r && r < 0xa0 || r == 0xfffe || r == 0xffff
}

// place converts an offset into a line and column from 1.
func place(text []byte, at int) (line, column int) {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	return 1 + bytes.Count(text[:at], []byte{'\n'}), 1 + utf8.RuneCount(text[start:at])
}

var syntaxForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`) })

// parserFaults matches the messages whose line the library counts from 0.
var parserFaults = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(did not find expected (key|node content|'-' indicator|',' or|<)|found (duplicate|incompatible|undefined))`)
})

// bareInclude matches an !include whose colon YAML takes as part of the tag.
var bareInclude = regexp.MustCompile(`(?m)^[ \t]*!include:`)

// syntaxError adds a place and a hint to an error from the YAML library.
func syntaxError(file string, text []byte, err error) *Error {
	m := syntaxForm().FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{File: file, Message: err.Error()}
	}
	line, column, message := 1, 0, m[2]
	if m[1] != "" {
		line, _ = strconv.Atoi(m[1]) // only digits matched
		if parserFaults().MatchString(message) {
			line++
		}
	}
	if at := bareInclude.FindIndex(text); at != nil {
		line, column = place(text, at[1]-len("!include:"))
		return &Error{File: file, Line: line, Column: column, Message: "this is not YAML: " + message, Hint: "write `!include : file` with a space before the colon"}
	}
	line = min(line, 1+bytes.Count(bytes.TrimRight(text, "\r\n"), []byte{'\n'}))
	block := line
	if at, found := faultLine(text, err); found {
		line = at
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		line, column = place(text, max(0, bytes.Index(text, []byte("*"+name))))
	}
	about := newAround(text, message, line, block)
	if column == 0 { // the library gives no column: use the line's first character
		column = 1 + indentOf(about.at)
	}
	return &Error{File: file, Line: line, Column: column, Message: "this is not YAML: " + message, Hint: about.hint()}
}
