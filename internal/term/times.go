package term

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseInstant reads a time with an offset (see ParseOffset) or seconds since 1970. Errors name the option to which the
// string belongs.
func ParseInstant(text, option string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(n, 0), nil
	}
	if t, ok := ParseOffset(text); ok {
		return t, nil
	}
	if err := Impossible(option, text, "2006-01-02 15:04:05 -0700"); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, fmt.Errorf("%s option must be \"yyyy-MM-dd HH:mm:ss Z\" format or UNIX timestamp: %s\nhint: current local time is \"%s\"", option, text, Time(time.Now()))
}

// ParseLocal reads "yyyy-MM-dd" or "yyyy-MM-dd HH:mm:ss" as a time without a zone, and returns it in the form that the
// API uses. The error begins with message, whose first word is the option to which the string belongs.
func ParseLocal(text, message string) (string, error) {
	for _, form := range LocalForms() {
		if t, err := time.Parse(form, text); err == nil && len(text) == len(form) {
			return t.Format("2006-01-02T15:04:05"), nil
		}
	}
	option, _, _ := strings.Cut(message, " ")
	if err := Impossible(option, text, time.DateOnly, time.DateTime); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%s: %s", message, text)
}

// ParseTime reads a time with an offset (see ParseOffset) or without (see ParseLocal), and returns it in the form that
// the API uses.
func ParseTime(text, message string) (string, error) {
	if t, ok := ParseOffset(text); ok {
		return t.Format(time.RFC3339Nano), nil
	}
	return ParseLocal(text, message)
}

// LocalForms returns layouts for time.Parse: the documented forms of a time without a zone, and the printed ones.
func LocalForms() []string {
	return []string{time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05"}
}

// offsetForms returns layouts for a time with an offset: the printed ones, each with and without a space before the
// offset and a colon in it.
func offsetForms() []string {
	var forms []string
	for _, day := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		for _, zone := range []string{"Z07:00", "Z0700", " Z07:00", " Z0700"} {
			forms = append(forms, day+zone)
		}
	}
	return forms
}

// ParseOffset reads a time with an offset, in any form that the program prints, and reports whether the string is such
// a time.
func ParseOffset(text string) (time.Time, bool) {
	for _, form := range offsetForms() {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Impossible returns the error for a string that has one of an option's forms but is not a time, such as the 30th of
// February, or nil for any other string. Repeating the form would not explain what is wrong.
func Impossible(option, text string, forms ...string) error {
	for _, form := range forms {
		var wrong *time.ParseError
		if _, err := time.Parse(form, text); errors.As(err, &wrong) && strings.HasSuffix(wrong.Message, "out of range") {
			return fmt.Errorf("%s %q: there is no such time%s", option, text, strings.TrimRight(wrong.Message, " "))
		}
	}
	return nil
}

// LongDuration formats a duration as settings do: "90d", "1h 30m".
func LongDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return WholeDuration(d)
}
