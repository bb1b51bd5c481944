package param

import (
	"regexp"
	"strconv"
	"sync"
	"time"
)

var durationForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\s*(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+)\s*s)?\s*$`)
})

// AsDuration reads a duration as the language writes it: "1d 2h 3m 4s" in this order, at least one part, spaces and
// capitals allowed (language.md 1.10).
func AsDuration(key string, v Value) (time.Duration, error) {
	text, err := AsString(key, v)
	if err != nil {
		return 0, err
	}
	if d, ok := ParseDuration(text); ok {
		return d, nil
	}
	return 0, Errorf("Invalid duration for key '%s': %s (write it like \"1d 2h 3m 4s\")", key, text)
}

// ParseDuration reads "1d 2h 3m 4s"; false if the string is not a duration, or if the duration is too long.
func ParseDuration(text string) (time.Duration, bool) {
	m := durationForm().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	var total time.Duration
	found := false
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil || n > int64((1<<62)/unit) {
			return 0, false
		}
		found = true
		total += time.Duration(n) * unit
	}
	return total, found && total >= 0
}
