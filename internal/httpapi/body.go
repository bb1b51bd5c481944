package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/host"
)

// read decodes the JSON body into v; fields that are not known are ignored. optional lets
// the body be missing.
func (c *call) read(v any, optional bool) error {
	body, err := unpacked(c.w, c.r, min(c.Limits.Body, cmp.Or(c.mostBody, c.Limits.Body)))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return invalid("Body cannot be read: %v", err)
	}
	if t := strings.TrimSpace(string(text)); t == "" || t == "null" {
		if optional {
			return nil
		}
		return invalid("A JSON body is required")
	}
	if err := json.Unmarshal(text, v); err != nil {
		return invalidJSON(err)
	}
	return nil
}

func invalidJSON(err error) error {
	var user *host.Error
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &user):
		return user
	case errors.As(err, &wrongType):
		return invalid("Cannot read %q from JSON: %s is not possible here", wrongType.Field, wrongType.Value)
	}
	return invalid("Body is not valid JSON: %v", err)
}

// whole is a whole number in a body: a JSON number, what is behind its point is dropped,
// or a string that holds one.
type whole int64

// UnmarshalJSON reads both forms.
func (n *whole) UnmarshalJSON(b []byte) error {
	text := strings.TrimSpace(strings.Trim(string(b), `"`))
	v, err := strconv.ParseInt(text, 10, 64)
	if f, isNumber := strconv.ParseFloat(string(b), 64); err != nil && isNumber == nil && math.Abs(f) < 1<<53 {
		v, err = int64(f), nil
	}
	if err != nil {
		return invalid("For input string: %q", text)
	}
	*n = whole(v)
	return nil
}

// words is a text in a body: a string, or a number or truth value as it stands there.
type words string

// UnmarshalJSON reads all of these.
func (w *words) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(w))
	case '{', '[':
		return invalid("A text is needed, not an object or a list")
	}
	*w = words(b)
	return nil
}

// choice is true or false in a body, also as a string or a number. null is false, but given.
type choice struct{ given, yes bool }

// UnmarshalJSON reads all of these.
func (c *choice) UnmarshalJSON(b []byte) error {
	c.given = true
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		c.yes = n != 0
		return nil
	}
	switch strings.Trim(string(b), `"`) {
	case "true", "True", "TRUE":
		c.yes = true
	case "false", "False", "FALSE", "null", "":
		c.yes = false
	default:
		return invalid("true or false is needed, not %.100s", b)
	}
	return nil
}

// instant is a time with an offset in a body.
type instant struct{ time.Time }

// UnmarshalJSON reads an ISO-8601 date and time with an offset or Z.
func (t *instant) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return invalid("Invalid ISO time format: %s", b)
	}
	v, err := parseInstant(text)
	if err != nil {
		return invalid("Invalid ISO time format: %s", text)
	}
	t.Time = v
	return nil
}

// parseInstant reads a time with an offset. The first instant of the year 1 is none: it
// means "no time" everywhere else.
func parseInstant(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time with an offset", text)
}

// localOrInstant is a time in a body with an offset or, without one, in the zone of a
// workflow. It stays text: it is read where the zone is known.
type localOrInstant string

// UnmarshalJSON checks the form.
func (t *localOrInstant) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &text)
	if err == nil {
		*t, err = parseLocalOrInstant(text)
	}
	if err != nil {
		return invalid("Invalid timestamp format: %s", strings.Trim(string(b), `"`))
	}
	return nil
}

// parseLocalOrInstant checks the form; seconds may be left out.
func parseLocalOrInstant(text string) (localOrInstant, error) {
	if t, err := parseInstant(text); err == nil {
		return localOrInstant(t.Format(time.RFC3339Nano)), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return localOrInstant(t.Format("2006-01-02T15:04:05.999999999")), nil
		}
	}
	return "", fmt.Errorf("%q is no time", text)
}

// notSet is the error for a field that must be in a body.
func notSet(fields ...string) error {
	return invalid("Some of required attributes are not set [%s]", strings.Join(fields, ", "))
}
