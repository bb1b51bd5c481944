package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/host"
)

// InvalidJSON is the error for a body that cannot be read.
func InvalidJSON(err error) error {
	var user *host.Error
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &user):
		return user
	case errors.As(err, &wrongType):
		return Invalid("Cannot read %q from JSON: %s is not allowed here", wrongType.Field, wrongType.Value)
	}
	return Invalid("Body is not valid JSON: %v", err)
}

// Whole is a whole number in a body: a JSON number, whose fraction is dropped, or a string that holds one.
type Whole int64

// UnmarshalJSON reads both forms.
func (n *Whole) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(strings.Trim(string(b), `"`))
	v, err := strconv.ParseInt(text, 10, 64)
	if f, isNumber := strconv.ParseFloat(string(b), 64); err != nil && isNumber == nil && math.Abs(f) < 1<<53 {
		v, err = int64(f), nil
	}
	if err != nil {
		return Invalid("For input string: %q", text)
	}
	*n = Whole(v)
	return nil
}

// Words is a value in a body as text: a string, or a number or boolean as written.
type Words string

// UnmarshalJSON reads any of these types.
func (w *Words) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(w))
	case '{', '[':
		return Invalid("Expected text, not an object or a list")
	}
	*w = Words(b)
	return nil
}

// Choice is true or false in a body, which may be written as a string or a number. null counts as given, and as false.
type Choice struct{ Given, Yes bool }

// UnmarshalJSON reads any of these types.
func (c *Choice) UnmarshalJSON(b []byte) error {
	c.Given = true
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		c.Yes = n != 0
		return nil
	}
	switch strings.Trim(string(b), `"`) {
	case "true", "True", "TRUE":
		c.Yes = true
	case "false", "False", "FALSE", "null", "":
		c.Yes = false
	default:
		return Invalid("Expected true or false, not %.100s", b)
	}
	return nil
}

// Instant is a time with an offset in a body.
type Instant struct{ time.Time }

// UnmarshalJSON reads an ISO-8601 date and time with an offset or Z.
func (t *Instant) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return Invalid("Invalid ISO time format: %s", b)
	}
	v, err := ParseInstant(text)
	if err != nil {
		return Invalid("Invalid ISO time format: %s", text)
	}
	t.Time = v
	return nil
}

// ParseInstant reads a time with an offset. It refuses the first instant of the year 1, which means "no time"
// everywhere else.
func ParseInstant(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time with an offset", text)
}

// LocalOrInstant is a time in a body with an offset or, without one, in a workflow's zone. It stays text until the zone
// is known.
type LocalOrInstant string

// UnmarshalJSON checks the form.
func (t *LocalOrInstant) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &text)
	if err == nil {
		*t, err = ParseLocalOrInstant(text)
	}
	if err != nil {
		return Invalid("Invalid timestamp format: %s", strings.Trim(string(b), `"`))
	}
	return nil
}

// ParseLocalOrInstant checks the form; seconds may be omitted.
func ParseLocalOrInstant(text string) (LocalOrInstant, error) {
	if t, err := ParseInstant(text); err == nil {
		return LocalOrInstant(t.Format(time.RFC3339Nano)), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return LocalOrInstant(t.Format("2006-01-02T15:04:05.999999999")), nil
		}
	}
	return "", fmt.Errorf("%q is not a time", text)
}

// NotSet returns the error for a missing required field in a body.
func NotSet(fields ...string) error {
	return Invalid("Some of required attributes are not set [%s]", strings.Join(fields, ", "))
}
