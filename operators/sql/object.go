package sql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

// object returns a value the way Digdag's driver returns values of types without a Java class, such as `json`. Its
// "null" is true for every existing value, which is a bug in that driver; existing workflows may rely on it.
func object(kind, text string, more ...any) *param.Map {
	o := param.New("type", kind, "value", text)
	for i := 0; i < len(more); i += 2 {
		o.Set(more[i].(string), more[i+1])
	}
	o.Set("null", true)
	return o
}

// interval holds the parts of "1 year 2 mons -3 days 04:05:06.7".
type interval struct{ years, months, days, hours, minutes, seconds, micros int64 }

func parseInterval(text string) (i interval, ok bool) {
	words := strings.Fields(text)
	if n := len(words); n > 0 && strings.Contains(words[n-1], ":") {
		if !i.clock(words[n-1]) {
			return i, false
		}
		words = words[:n-1]
	}
	if len(words)%2 != 0 {
		return i, false
	}
	parts := map[string]*int64{"year": &i.years, "mon": &i.months, "day": &i.days}
	for k := 0; k < len(words); k += 2 {
		part := parts[strings.TrimSuffix(words[k+1], "s")]
		n, err := strconv.ParseInt(words[k], 10, 64)
		if part == nil || err != nil {
			return i, false
		}
		*part = n
	}
	return i, text != ""
}

// clock reads "-04:05:06.7"; the sign applies to every part.
func (i *interval) clock(text string) bool {
	sign := int64(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	parts := strings.Split(whole, ":")
	if len(parts) != 3 || len(fraction) > 6 {
		return false
	}
	for k, to := range []*int64{&i.hours, &i.minutes, &i.seconds} {
		n, err := strconv.ParseInt(parts[k], 10, 64)
		if err != nil {
			return false
		}
		*to = sign * n
	}
	micros, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	i.micros = sign * micros
	return err == nil
}

func (i interval) text() string {
	seconds := strconv.FormatFloat(i.allSeconds(), 'f', -1, 64)
	if !strings.Contains(seconds, ".") {
		seconds += ".0"
	}
	return fmt.Sprintf("%d years %d mons %d days %d hours %d mins %s secs", i.years, i.months, i.days, i.hours, i.minutes, seconds)
}

func (i interval) allSeconds() float64 { return float64(i.seconds*1_000_000+i.micros) / 1_000_000 }

func asInterval(text string) (param.Value, bool) {
	i, ok := parseInterval(text)
	return object("interval", i.text(), "years", i.years, "months", i.months, "days", i.days, "hours", i.hours, "minutes", i.minutes,
		"wholeSeconds", i.seconds, "microSeconds", i.micros, "seconds", i.allSeconds()), ok
}

func intervalText(text string) string {
	if i, ok := parseInterval(text); ok {
		return i.text()
	}
	return text
}

// decimal matches the numbers of a shape.
var decimal = regexp.MustCompile(`[-+]?[0-9.]+(e[-+]?[0-9]+)?`)

// shapeText formats the numbers of a shape as Digdag does: "(1.0,2.5)".
func shapeText(text string) string {
	return decimal.ReplaceAllStringFunc(text, floatText)
}

// asShape reads a geometric value: each point becomes an object of x and y.
func asShape(kind string) func(text string) (param.Value, bool) {
	return func(text string) (param.Value, bool) {
		var at []float64
		for _, number := range decimal.FindAllString(text, -1) {
			f, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return nil, false
			}
			at = append(at, f)
		}
		more, ok := shape(kind, at, strings.HasPrefix(text, "["))
		return object(kind, shapeText(text), more...), ok
	}
}

func shape(kind string, at []float64, open bool) (more []any, ok bool) {
	switch {
	case kind == "line" && len(at) == 3:
		return []any{"a", at[0], "b", at[1], "c", at[2]}, true
	case kind == "circle" && len(at) == 3:
		return []any{"center", point(at), "radius", at[2]}, true
	case kind == "point" && len(at) == 2:
		return []any{"x", at[0], "y", at[1], "isNull", false}, true
	case len(at)%2 != 0 || len(at) == 0:
		return nil, false
	}
	var points []param.Value
	for ; len(at) > 0; at = at[2:] {
		points = append(points, point(at))
	}
	switch kind {
	case "box", "lseg":
		return []any{"point", points}, true
	case "path":
		return []any{"open", open, "points", points, "closed", !open}, true
	}
	return []any{"points", points}, kind == "polygon"
}

func point(at []float64) *param.Map {
	text := "(" + param.FloatText(at[0]) + "," + param.FloatText(at[1]) + ")"
	return object("point", text, "x", at[0], "y", at[1], "isNull", false)
}
