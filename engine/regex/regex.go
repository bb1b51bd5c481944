// Package regex compiles the regular expressions of users (RE2, as in Go's package regexp) within limits, so that no
// file or request makes a process spend much memory or time on one.
//
// A repeated group is compiled as many times as it is repeated: 3 KB of text can become three million instructions. So
// an expression is parsed and measured before it is compiled. Engine, operators and API use this package for every
// expression that comes from outside; it must never be bypassed with regexp.Compile.
package regex

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

// The limits. The largest expression within them takes a few megabytes and a few milliseconds.
const (
	MaxText         = 1000    // bytes of one expression
	MaxInstructions = 10_000  // of one expression, once compiled
	MaxOfFile       = 100_000 // instructions of all different expressions of one file
	maxSteps        = 200 << 20
	maxKept         = 4 * MaxOfFile // instructions of the expressions in the cache
)

// ErrTooLarge is returned for an expression over one of the limits.
var ErrTooLarge = errors.New("too large")

// Regexp is a compiled expression.
type Regexp struct {
	*regexp.Regexp
	instructions int
}

// Size returns the cost of an expression without compiling it: roughly how many instructions it would compile to. A
// costly character counts as the number of instructions that take the same time. The error is about its syntax, or
// ErrTooLarge.
func Size(text string) (int, error) {
	if len(text) > MaxText {
		return 0, fmt.Errorf("%w: it is %d bytes, but at most %d are allowed", ErrTooLarge, len(text), MaxText)
	}
	n := classes(text)
	if n > MaxInstructions {
		return n, fmt.Errorf("%w: it has too many classes and ranges of Unicode characters", ErrTooLarge)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	if n += instructions(parsed); n > MaxInstructions {
		return n, fmt.Errorf("%w: repeated parts make it %d instructions long, but at most %d are allowed", ErrTooLarge, n, MaxInstructions)
	}
	return n, nil
}

// classes returns the cost of parsing Unicode classes and case-insensitive ranges of non-ASCII characters: the parser
// visits each character of such a range, which takes milliseconds.
func classes(text string) int {
	const class, span = 600, 5000
	n := class * (strings.Count(text, `\p`) + strings.Count(text, `\P`))
	if !ignoresCase().MatchString(text) {
		return n
	}
	for i := range len(text) {
		if text[i] == '-' && i > 0 && i+1 < len(text) && (wide(text[i-1]) || wide(text[i+1])) {
			n += span
		}
	}
	return n
}

var ignoresCase = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(\?[a-zA-Z]*i`) })

// wide reports whether a byte next to a range's dash can belong to a character beyond ASCII, or to its escape.
func wide(c byte) bool { return c >= utf8.RuneSelf || c == '}' || c == '\\' }

// instructions returns the size of the compiled form. The parser limits the depth of an expression to 1,000 levels, and
// its size to a few million.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1)
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n += 1
	}
	return n
}

// cache keeps expressions that were compiled: starts, plans and checks read a workflow's rules again each time. When it
// is full, it is emptied, which costs each expression one compilation.
type cache struct {
	mu   sync.Mutex
	of   map[string]*Regexp
	size int
}

var compiled = sync.OnceValue(func() *cache { return &cache{of: map[string]*Regexp{}} })

func (c *cache) get(text string) *Regexp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[text]
}

func (c *cache) put(text string, re *Regexp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+re.instructions > maxKept {
		c.of, c.size = map[string]*Regexp{}, 0
	}
	if _, there := c.of[text]; !there {
		c.of[text] = re
		c.size += re.instructions
	}
}

// Compile compiles an expression, or returns the one compiled before. The error is about its syntax, or ErrTooLarge.
func Compile(text string) (*Regexp, error) {
	if known := compiled().get(text); known != nil {
		return known, nil
	}
	size, err := Size(text)
	if err != nil {
		return nil, err
	}
	made, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	re := &Regexp{made, size}
	compiled().put(text, re)
	return re, nil
}

// Fits reports whether a string is short enough to be matched; the cost of a match is up to one step per character and
// instruction. Expressions of up to 200 instructions fit a megabyte of text.
func (r *Regexp) Fits(text string) bool { return len(text) <= maxSteps/max(r.instructions, 1) }
