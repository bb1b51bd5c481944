package script

import (
	"strconv"
	"strings"
	"time"
)

// parseDate reads a date as Date.parse does: in the ISO forms, and in the loose forms that users and Date's own
// toString write. The fields are those that instant takes. Without a zone, the ISO form with a "T" and a date alone are
// UTC, as in ECMAScript 5; everything else is local.
func parseDate(text string, local *time.Location) (f [7]float64, zone *time.Location, ok bool) {
	text = strings.TrimSpace(text)
	if f, zone, ok = parseISO(text, local); !ok {
		f, zone, ok = parseLoose(text, local)
	}
	ok = ok && f[1] >= 0 && f[1] <= 11 && f[2] >= 1 && f[2] <= 31 && f[3] <= 24 && f[4] <= 59 && f[5] <= 59 &&
		(f[3] < 24 || f[4] == 0 && f[5] == 0 && f[6] == 0)
	return f, zone, ok
}

// reader consumes a string from its start.
type reader struct{ rest string }

// digits reads a number of exactly n digits.
func (r *reader) digits(n int) (float64, bool) {
	if len(r.rest) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(r.rest[:n], 10, 32)
	if err != nil {
		return 0, false
	}
	r.rest = r.rest[n:]
	return float64(v), true
}

func (r *reader) eat(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func parseISO(text string, local *time.Location) (f [7]float64, zone *time.Location, ok bool) {
	r := reader{text}
	f[2] = 1
	sign, width := 1.0, 4
	if text != "" && (text[0] == '+' || text[0] == '-') {
		width = 6
		if text[0] == '-' {
			sign = -1
		}
		r.rest = text[1:]
	}
	if f[0], ok = r.digits(width); !ok {
		return f, nil, false
	}
	f[0] *= sign
	for i := 1; i <= 2 && r.eat('-'); i++ {
		if f[i], ok = r.digits(2); !ok {
			return f, nil, false
		}
		if i == 1 {
			f[1]--
		}
	}
	if r.rest == "" {
		return f, time.UTC, true
	}
	switch {
	case r.eat('T'):
		local = time.UTC
	case !r.eat(' '):
		return f, nil, false
	}
	if !r.clock(&f) {
		return f, nil, false
	}
	zone, ok = r.zone(local)
	return f, zone, ok && r.rest == ""
}

// clock reads hh:mm, hh:mm:ss or hh:mm:ss.fff.
func (r *reader) clock(f *[7]float64) (ok bool) {
	if f[3], ok = r.digits(2); !ok || !r.eat(':') {
		return false
	}
	if f[4], ok = r.digits(2); !ok {
		return false
	}
	if !r.eat(':') {
		return true
	}
	if f[5], ok = r.digits(2); !ok {
		return false
	}
	if r.eat('.') || r.eat(',') {
		n := 0
		for n < len(r.rest) && r.rest[n] >= '0' && r.rest[n] <= '9' {
			n++
		}
		ms, err := strconv.Atoi((r.rest[:n] + "000")[:3])
		if n == 0 || err != nil {
			return false
		}
		f[6] = float64(ms)
		r.rest = r.rest[n:]
	}
	return true
}

// zone reads "Z", "+hh:mm", "+hhmm" or "+hh"; empty is local time.
func (r *reader) zone(local *time.Location) (*time.Location, bool) {
	if r.rest == "" {
		return local, true
	}
	if r.eat('Z') {
		return time.UTC, true
	}
	sign := 1
	if r.rest[0] == '-' {
		sign = -1
	}
	if !r.eat('+') && !r.eat('-') {
		return nil, false
	}
	h, ok := r.digits(2)
	if !ok {
		return nil, false
	}
	m := 0.0
	if r.eat(':') || r.rest != "" && r.rest[0] >= '0' && r.rest[0] <= '9' {
		if m, ok = r.digits(2); !ok {
			return nil, false
		}
	}
	return time.FixedZone("", sign*int(h*3600+m*60)), h < 24 && m < 60
}

// loose collects what the words and numbers in a string mean.
type loose struct {
	numbers []float64
	month   int // 1 to 12; 0 for none
	f       [7]float64
	timed   bool
	half    int // 1 is am, 2 is pm
	zone    *time.Location
	slashes bool
}

func parseLoose(text string, local *time.Location) (f [7]float64, zone *time.Location, ok bool) {
	l := loose{zone: local}
	for text = dropComments(text); text != ""; {
		switch c := text[0]; {
		case c == ' ' || c == ',':
			text = text[1:]
		case c >= '0' && c <= '9':
			text, ok = l.number(text)
			if !ok {
				return f, nil, false
			}
		case l.timed && strings.IndexByte("+-", c) >= 0:
			r := reader{text}
			if l.zone, ok = r.zone(local); !ok {
				return f, nil, false
			}
			text = r.rest
		case strings.IndexByte("/-.", c) >= 0:
			l.slashes = true
			text = text[1:]
		default:
			rest := strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
			word := text[:len(text)-len(rest)]
			if word == "" || !l.word(strings.ToLower(word)) {
				return f, nil, false
			}
			text = strings.TrimPrefix(rest, ".")
		}
	}
	return l.fields()
}

// dropComments removes text in parentheses.
func dropComments(text string) string {
	for {
		before, after, ok := strings.Cut(text, "(")
		if !ok {
			return text
		}
		_, after, _ = strings.Cut(after, ")")
		text = before + " " + after
	}
}

// number reads a time of day, or one of the date's numbers.
func (l *loose) number(text string) (rest string, ok bool) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n < len(text) && text[n] == ':' && !l.timed {
		l.timed = true
		if n == 1 {
			text = "0" + text
		}
		r := reader{text}
		ok = r.clock(&l.f)
		return r.rest, ok
	}
	v, err := strconv.ParseUint(text[:n], 10, 32)
	l.numbers = append(l.numbers, float64(v))
	return text[n:], err == nil && len(l.numbers) <= 3
}

// word reads the name of a month, day or zone, or am or pm.
func (l *loose) word(word string) bool {
	switch word {
	case "am", "pm":
		l.half = 1
		if word == "pm" {
			l.half = 2
		}
		return l.timed
	case "t":
		return len(l.numbers) == 3
	case "z", "gmt", "utc", "ut":
		l.zone, l.timed = time.UTC, true
		return true
	case "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt":
		hours := -5 - strings.IndexByte("ecmp", word[0])
		if word[1] == 'd' {
			hours++
		}
		l.zone = time.FixedZone(word, hours*3600)
		return true
	}
	if len(word) < 3 {
		return false
	}
	if i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", word[:3]); i >= 0 && i%3 == 0 {
		l.month = i/3 + 1
		return true
	}
	i := strings.Index("sunmontuewedthufrisat", word[:3])
	return i >= 0 && i%3 == 0
}

// fields orders the numbers: with the name of a month, day and year (or year and day); without one, year/month/day or
// month/day/year.
func (l *loose) fields() (f [7]float64, zone *time.Location, ok bool) {
	n := l.numbers
	f = l.f
	switch {
	case l.month > 0 && len(n) == 1:
		f[0], f[1], f[2] = 2001, float64(l.month-1), n[0]
	case l.month > 0 && len(n) == 2 && n[0] > 31:
		f[0], f[1], f[2] = n[0], float64(l.month-1), n[1]
	case l.month > 0 && len(n) == 2:
		f[0], f[1], f[2] = n[1], float64(l.month-1), n[0]
	case l.month == 0 && len(n) == 3 && n[0] > 31:
		f[0], f[1], f[2] = n[0], n[1]-1, n[2]
	case l.month == 0 && len(n) == 3 && l.slashes:
		f[0], f[1], f[2] = n[2], n[0]-1, n[1]
	default:
		return f, nil, false
	}
	f[0], f[3] = inCentury(f[0]), l.hour(f[3])
	return f, l.zone, true
}

// inCentury expands a year that may have only two digits.
func inCentury(year float64) float64 {
	switch {
	case year < 50:
		return year + 2000
	case year < 100:
		return year + 1900
	}
	return year
}

// hour converts an hour that may be marked as am or pm to 24 hours.
func (l *loose) hour(h float64) float64 {
	switch {
	case l.half == 2 && h < 12:
		return h + 12
	case l.half == 1 && h == 12:
		return 0
	}
	return h
}
