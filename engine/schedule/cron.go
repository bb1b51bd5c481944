package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
)

// The dialect is that of the cron4j library, which Digdag uses. It is not the usual dialect, so the parser of
// robfig/cron only serves as a second opinion in the tests, for patterns that both read alike. The differences: both
// day fields must match (usually either may); "5/15" is only 5; a range may wrap around past the end ("22-2"); "L" is
// the last day of a month; "|" joins several patterns; a negative number is read as positive; "0-7" is only Sunday.

// pattern is one or more cron patterns; a time must match any of them.
type pattern []fields

// fields are the bit sets of one pattern: bit n means that value n matches.
type fields struct{ minute, hour, day, month, weekday uint64 }

// lastDay is the value of "L" in the day of month.
const lastDay = 32

// fieldSpec describes how to read one of the five fields.
type fieldSpec struct {
	name     string
	min, max int
	names    string // three letters each, the first for alias
	alias    int
}

func fieldSpecs() [5]fieldSpec {
	return [5]fieldSpec{
		{name: "minutes", max: 59},
		{name: "hours", max: 23},
		{name: "days of month", min: 1, max: 31},
		{name: "months", min: 1, max: 12, names: "janfebmaraprmayjunjulaugsepoctnovdec", alias: 1},
		{name: "days of week", max: 7, names: "sunmontuewedthufrisat"},
	}
}

// parsePattern reads cron patterns joined by "|".
func parsePattern(text string) (pattern, error) {
	var p pattern
	seen := false
	for part := range strings.SplitSeq(text, "|") {
		if part == "" {
			continue
		}
		words := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) != 5 {
			return nil, param.Errorf("invalid pattern: %q (five fields are needed: minute hour day month weekday)", part)
		}
		var sets [5]uint64
		for i, spec := range fieldSpecs() {
			set, err := spec.parse(words[i])
			if err != nil {
				return nil, param.Errorf("invalid pattern %q. Error parsing %s field: %v.", part, spec.name, err)
			}
			sets[i] = set
		}
		seen = true
		f := fields{sets[0], sets[1], sets[2], sets[3], sets[4]}
		if f.everMatches() {
			p = append(p, f)
		}
	}
	switch {
	case !seen:
		return nil, param.Errorf("invalid pattern: %q", text)
	case len(p) == 0:
		return nil, param.Errorf("invalid pattern: %q never matches: no year has such a day", text)
	}
	return p, nil
}

// everMatches reports whether any time matches at all; Digdag searches forever if there is none.
func (f fields) everMatches() bool {
	_, ok := f.walk(clock{year: 2000, month: 1, day: 1}, time.UTC)
	return ok
}

// parse reads one field: a list of elements.
func (f fieldSpec) parse(text string) (uint64, error) {
	var set uint64
	for element := range strings.SplitSeq(text, ",") {
		if element == "" {
			continue
		}
		bits, err := f.element(element)
		if err != nil {
			return 0, fmt.Errorf("invalid field %q, invalid element %q, %w", text, element, err)
		}
		set |= bits
	}
	if set == 0 {
		return 0, fmt.Errorf("invalid field %q", text)
	}
	return set, nil
}

// element reads a value or range with an optional step; the step counts through the values of the range in order.
func (f fieldSpec) element(text string) (uint64, error) {
	parts := tokens(text, "/")
	if len(parts) < 1 || len(parts) > 2 {
		return 0, fmt.Errorf("syntax error")
	}
	values, err := f.rangeOf(parts[0])
	if err != nil {
		return 0, fmt.Errorf("invalid range, %w", err)
	}
	step := 1
	if len(parts) == 2 {
		n, err := strconv.ParseInt(parts[1], 10, 32)
		if err != nil {
			return 0, fmt.Errorf("invalid divisor %q", parts[1])
		}
		if n < 1 {
			return 0, fmt.Errorf("non positive divisor %q", parts[1])
		}
		step = int(n)
	}
	var set uint64
	for i := 0; i < len(values); i += step {
		set |= 1 << values[i]
	}
	return set, nil
}

// rangeOf lists the values of "*", "a" or "a-b", which wraps if a is beyond b.
func (f fieldSpec) rangeOf(text string) ([]int, error) {
	if text == "*" {
		return span(f.min, f.max), nil
	}
	ends := tokens(text, "-")
	if len(ends) < 1 || len(ends) > 2 {
		return nil, fmt.Errorf("syntax error")
	}
	var v [2]int
	for i, e := range ends {
		n, err := f.value(e)
		if err != nil {
			return nil, fmt.Errorf("invalid value %q, %w", e, err)
		}
		v[i] = n
	}
	switch {
	case len(ends) == 1:
		return []int{v[0]}, nil
	case v[0] > v[1]:
		return append(span(v[0], f.max), span(f.min, v[1])...), nil
	}
	return span(v[0], v[1]), nil
}

func (f fieldSpec) value(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err == nil && int(n) >= f.min && int(n) <= f.max {
		if f.max == 7 {
			n %= 7 // both 0 and 7 are Sunday
		}
		return int(n), nil
	}
	switch {
	case f.names != "":
		if len(text) == 3 {
			if i := strings.Index(f.names, strings.ToLower(text)); i >= 0 && i%3 == 0 {
				return f.alias + i/3, nil
			}
		}
		return 0, fmt.Errorf("invalid alias %q", text)
	case f.max == 31 && strings.EqualFold(text, "L"):
		return lastDay, nil
	case err != nil:
		return 0, fmt.Errorf("invalid integer value")
	}
	return 0, fmt.Errorf("value out of range")
}

// tokens splits at sep and drops empty parts, so that "-5" is 5.
func tokens(text, sep string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return string(r) == sep })
}

func span(from, to int) []int {
	var out []int
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

// daysIn returns the number of days of a month, 1 to 12.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// matchDay reports whether the day of month matches, including "L". It is also called for days that a month does not
// have; there "L" never matches.
func (f fields) matchDay(year, month, day int) bool {
	if f.day>>day&1 == 1 {
		return true
	}
	return f.day>>lastDay&1 == 1 && day == daysIn(year, month)
}
