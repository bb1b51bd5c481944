package term

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseInstant reads "yyyy-MM-dd HH:mm:ss Z" or seconds since 1970. Errors name the option that has the text.
func ParseInstant(text, option string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(n, 0), nil
	}
	for _, form := range []string{"2006-01-02 15:04:05 -0700", listForm} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	if err := Impossible(option, text, "2006-01-02 15:04:05 -0700"); err != nil {
		return time.Time{}, err
	}
	return time.Time{}, fmt.Errorf("%s option must be \"yyyy-MM-dd HH:mm:ss Z\" format or UNIX timestamp: %s\nhint: current local time is \"%s\"", option, text, Time(time.Now()))
}

// ParseLocal reads "yyyy-MM-dd" or "yyyy-MM-dd HH:mm:ss" as a time without zone, in the form of the API. The error
// begins with the message, whose first word is the option that has the text.
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

// LocalForms returns layouts for time.Parse: the documented forms of a time without zone, and the printed ones.
func LocalForms() []string {
	return []string{time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05"}
}

// offsetForms are those with an offset, as the program prints them.
func offsetForms() []string { return []string{"2006-01-02T15:04Z07:00", time.RFC3339, listForm} }

// ParseOffset reads a time with an offset, in a form in which the program prints it. It reports whether it is one.
func ParseOffset(text string) (time.Time, bool) {
	for _, form := range offsetForms() {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Impossible returns the error for a text that has one of the forms of an option but is not a time, such as the 30th of
// February; nil for any other text. Repeating the form would not explain what is wrong.
func Impossible(option, text string, forms ...string) error {
	for _, form := range forms {
		var wrong *time.ParseError
		if _, err := time.Parse(form, text); errors.As(err, &wrong) && strings.HasSuffix(wrong.Message, "out of range") {
			return fmt.Errorf("%s %q: there is no such time%s", option, text, strings.TrimRight(wrong.Message, " "))
		}
	}
	return nil
}
