package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// usualField describes how to read one of the five fields of `crontab>`.
type usualField struct {
	name     string
	min, max int
	most     int // the largest number allowed: 7 is also Sunday
	names    string
}

func usualFields() [5]usualField {
	return [5]usualField{
		{name: "minute", max: 59, most: 59},
		{name: "hour", max: 23, most: 23},
		{name: "day of month", min: 1, max: 31, most: 31},
		{name: "month", min: 1, max: 12, most: 12, names: "janfebmaraprmayjunjulaugsepoctnovdec"},
		{name: "weekday", max: 6, most: 7, names: "sunmontuewedthufrisat"},
	}
}

// sunday is the weekday's second number.
const sunday = 7

// starBit marks a field that begins with "*". The day fields of such a pattern must both match, as in the cron of Vixie
// and its descendants; the library has the same bit.
const starBit = 1 << 63

// usualNames returns the named patterns.
func usualNames() map[string]string {
	return map[string]string{"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *"}
}

// readUsual reads a pattern's fields.
func readUsual(text string) (*cron.SpecSchedule, error) {
	if strings.HasPrefix(text, "@") {
		pattern, known := usualNames()[text]
		if !known {
			return nil, fmt.Errorf("%s is unknown: use @hourly, @daily, @weekly, @monthly or @yearly", text)
		}
		text = pattern
	}
	words := strings.Fields(text)
	switch n := len(words); {
	case n == 6 || n == 7:
		return nil, fmt.Errorf("it has %d fields instead of five: minute hour day month weekday (seconds and years are not supported)", n)
	case n != 5:
		return nil, fmt.Errorf("it has %s instead of five: minute hour day month weekday", count(n, "field"))
	}
	var sets [5]uint64
	for i, f := range usualFields() {
		var err error
		if sets[i], err = f.read(words[i]); err != nil {
			return nil, fmt.Errorf("%s %q: %w", f.name, words[i], err)
		}
	}
	return &cron.SpecSchedule{Second: 1, Minute: sets[0], Hour: sets[1], Dom: sets[2], Month: sets[3], Dow: sets[4], Location: time.UTC}, nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// read reads a field: a list of elements.
func (f usualField) read(text string) (uint64, error) {
	var set uint64
	for element := range strings.SplitSeq(text, ",") {
		bits, err := f.element(element)
		if err != nil {
			return 0, err
		}
		set |= bits
	}
	if strings.HasPrefix(text, "*") {
		set |= starBit
	}
	return set, nil
}

// element reads "*", a value or a range, with a step or without one.
func (f usualField) element(text string) (uint64, error) {
	values, step, stepped := strings.Cut(text, "/")
	by := 1
	if stepped {
		var err error
		if by, err = strconv.Atoi(step); err != nil || by < 1 || step[0] == '+' {
			return 0, fmt.Errorf("the step after / must be a number, 1 or more, not %q", step)
		}
	}
	low, high, err := f.bounds(values, stepped)
	if err != nil {
		return 0, err
	}
	var set uint64
	for v := low; v <= high; v += by {
		if f.most == sunday && v == sunday {
			set |= 1 // the library uses 0 for Sunday
			continue
		}
		set |= 1 << v
	}
	return set, nil
}

// bounds reads the values before a step.
func (f usualField) bounds(text string, stepped bool) (low, high int, err error) {
	if text == "*" {
		return f.min, f.max, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if low, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
	case stepped:
		return low, max(low, f.max), nil
	default:
		return low, low, nil
	}
	if high, err = f.value(last); err != nil {
		return 0, 0, err
	}
	if f.most == sunday && high == 0 && low > 0 && strings.EqualFold(last, "sun") {
		high = sunday
	}
	if high < low {
		return 0, 0, f.backwards(first, last, low, high)
	}
	return low, high, nil
}

// backwards returns the error, with a hint, about a range such as 22-2.
func (f usualField) backwards(first, last string, low, high int) error {
	top, bottom := f.max, f.min
	one := func(from, to int) string {
		if from == to {
			return f.word(from, first)
		}
		return f.word(from, first) + "-" + f.word(to, first)
	}
	if low > top { // the weekday 7 is also 0
		return fmt.Errorf("the range %s-%s runs backwards: write %s", first, last, one(bottom, high))
	}
	return fmt.Errorf("the range %s-%s runs backwards: write %s,%s", first, last, one(low, top), one(bottom, high))
}

// word returns a value in the user's notation: as a name if `like` is a name.
func (f usualField) word(v int, like string) string {
	if i := (v - f.min) * 3; f.names != "" && (like[0] < '0' || like[0] > '9') && i+3 <= len(f.names) {
		return f.names[i : i+3]
	}
	return strconv.Itoa(v)
}

// value reads a number or a name.
func (f usualField) value(text string) (int, error) {
	if text == "" {
		return 0, errors.New("a value is missing")
	}
	if i := strings.Index(f.names, strings.ToLower(text)); len(text) == 3 && i >= 0 && i%3 == 0 {
		return f.min + i/3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] < '0' || text[0] > '9' {
		return 0, f.unknown(text)
	}
	if n < f.min || n > f.most {
		return 0, fmt.Errorf("%d is out of range: write %d to %d", n, f.min, f.most)
	}
	return n, nil
}

// unknown returns the error about a value that is neither a number nor a name, explaining its meaning in other
// programs.
func (f usualField) unknown(text string) error {
	upper := strings.ToUpper(text)
	if name := f.shortName(strings.ToLower(text)); name != "" {
		return fmt.Errorf("use three-letter names: write %s", name)
	}
	switch {
	case text == "?":
		return errors.New("? is not supported: write *")
	case text == "*":
		return errors.New("* must be alone or before a step")
	case upper == "L" && f.name == "day of month":
		return errors.New("L, the last day of the month, is not supported: cron> supports it")
	case strings.HasPrefix(upper, "H") && f.most != sunday:
		return errors.New("H, a value chosen by Jenkins, is not supported: write a number")
	case strings.Contains(upper, "#"):
		return errors.New("# for the week of the month is not supported: check the day in the workflow, with _if")
	case strings.HasSuffix(upper, "W"):
		return errors.New("W, the nearest working day, is not supported: use a calendar with on_holiday")
	case strings.HasSuffix(upper, "L"):
		return errors.New("L for the last such weekday of the month is not supported: check the day in the workflow, with _if")
	case f.names != "":
		return fmt.Errorf("%q is neither a number from %d to %d nor a name such as %s", text, f.min, f.most, f.names[:3])
	}
	return fmt.Errorf("%q is not a number from %d to %d", text, f.min, f.most)
}

// shortName returns the short name for a name that is written in full, or with more than three letters; "" for none.
func (f usualField) shortName(lower string) string {
	if len(lower) > 3 {
		if i := strings.Index(f.names, lower[:3]); i >= 0 && i%3 == 0 && strings.HasPrefix(fullName(f.names[i:i+3]), lower) {
			return f.names[i : i+3]
		}
	}
	return ""
}

// fullName returns the whole name of a month or a weekday.
func fullName(short string) string {
	for _, name := range strings.Fields("january february march april may june july august september october november december " +
		"sunday monday tuesday wednesday thursday friday saturday") {
		if strings.HasPrefix(name, short) {
			return name
		}
	}
	return short
}

// LargeStep returns a step in a `cron>` or `crontab>` pattern that is larger than its field, a common mistake for an
// interval: "*/90" in the minutes field means one minute of each hour. It returns "" if there is none.
func LargeStep(text string) string {
	for part := range strings.SplitSeq(text, "|") {
		words := strings.Fields(part)
		if len(words) > 0 && strings.Contains(words[0], "TZ=") {
			words = words[1:]
		}
		if len(words) != 5 {
			continue
		}
		for i, f := range usualFields() {
			for element := range strings.SplitSeq(words[i], ",") {
				values, step, _ := strings.Cut(element, "/")
				if n, err := strconv.Atoi(step); err == nil && values == "*" && n > f.max-f.min {
					return element + " of the " + f.name
				}
			}
		}
	}
	return ""
}
