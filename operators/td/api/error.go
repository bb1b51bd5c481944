package api

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Error is an unsuccessful response. Its text is the same as in Digdag's client.
type Error struct {
	Status int
	Path   string // with the query of a GET, which shows what was requested
	// Text is the service's message; "" for none.
	Text string
	// ConflictsWith is the job that already has the domain key, for a 409; "" if none is named.
	ConflictsWith string
	// After is how long the service asks clients to wait; 0 if it does not.
	After time.Duration
}

func (e *Error) Error() string {
	text := ""
	if e.Text != "" {
		text = ": " + e.Text
	}
	return fmt.Sprintf("[%s] [%d:%s] API request to %s has failed%s", e.family(), e.Status, http.StatusText(e.Status), e.Path, text)
}

func (e *Error) family() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "AUTHENTICATION_FAILURE"
	case e.Status == http.StatusNotFound:
		return "TARGET_NOT_FOUND"
	case e.Status == http.StatusConflict:
		return "TARGET_ALREADY_EXISTS"
	case e.Status == http.StatusProxyAuthRequired:
		return "PROXY_AUTHENTICATION_FAILURE"
	case e.Status == http.StatusUnprocessableEntity:
		return "INVALID_INPUT"
	case e.Status >= 400 && e.Status < 500:
		return "CLIENT_ERROR"
	case e.Status >= 500 && e.Status < 600:
		return "SERVER_ERROR"
	}
	return "UNEXPECTED_RESPONSE_CODE"
}

// Kind returns the word that Digdag users see after the text.
func (e *Error) Kind() string {
	switch e.Status {
	case http.StatusUnauthorized:
		return "td client http unauthorized"
	case http.StatusNotFound:
		return "td client http not found"
	case http.StatusConflict:
		return "td client http conflict"
	case http.StatusTooManyRequests:
		return "td client http too many requests"
	}
	return "td client http"
}

// Invalid is a call that is not made because it cannot be valid.
type Invalid struct{ Why string }

func (e *Invalid) Error() string { return "[INVALID_INPUT] " + e.Why }

// Kind returns the word that Digdag users see after the text.
func (e *Invalid) Kind() string { return "td client" }

// Unreadable is a successful response with unreadable content. The request may have taken effect.
type Unreadable struct{ Path, Why string }

func (e *Unreadable) Error() string {
	return fmt.Sprintf("[INVALID_JSON_RESPONSE] the response of Treasure Data to %s cannot be read: %s", e.Path, e.Why)
}

// Kind returns the word that Digdag users see after the text.
func (e *Unreadable) Kind() string { return "td client" }

// Is reports whether an error is a response with the given status.
func Is(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Temporary reports whether a retry may succeed: throttling, an outage, no response. As in Digdag, every 4xx is
// permanent except 408 and 429. An unreadable response is not temporary: see Unreadable.
func Temporary(err error) bool {
	var answer *Error
	var cut *unsent
	var certificate *tls.CertificateVerificationError
	var refused interface{ Lasting() bool } // by the host, see internal/egress
	switch {
	case errors.As(err, &answer):
		return answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusRequestTimeout || answer.Status < 400 || answer.Status >= 500
	case errors.As(err, &certificate), errors.As(err, &refused) && refused.Lasting():
		return false
	}
	return errors.As(err, &cut)
}

// After returns how long the service asks clients to wait; 0 if it does not ask.
func After(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// unsent is a call without a response. It does not name the address, which may be confidential; the path is enough.
type unsent struct {
	method, path string
	err          error
}

func (e *unsent) Error() string {
	return fmt.Sprintf("Treasure Data is not responding: %s %s: %v", e.method, e.path, e.err)
}

func (e *unsent) Unwrap() error { return e.err }

// Kind returns the word that Digdag users see after the text.
func (e *unsent) Kind() string { return "td client" }

func unanswered(r request, err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return &unsent{r.method, r.path, err}
}

// plain returns an error without the address that net/url adds.
func plain(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// refusal reads an unsuccessful response.
func refusal(r request, answer *http.Response, body io.Reader) error {
	e := &Error{Status: answer.StatusCode, Path: r.path, After: retryAfter(answer.Header.Get("Retry-After"))}
	if r.method == http.MethodGet {
		e.Path = r.address()
	}
	text, err := io.ReadAll(io.LimitReader(body, mostError))
	switch {
	case err != nil && answer.StatusCode == http.StatusConflict:
		return unanswered(r, err) // the job that it names may be in the missing part
	case err != nil && len(text) == 0:
		return e // the status is enough
	}
	e.Text, e.ConflictsWith = explain(text)
	return e
}

// explain returns the message in the content of an error, and the job that it names.
func explain(content []byte) (text, conflictsWith string) {
	var said struct {
		Text    string `json:"text"`
		Message string `json:"message"`
		Error   string `json:"error"`
		Details struct {
			ConflictsWith Word `json:"conflicts_with"`
		} `json:"details"`
	}
	trimmed := strings.TrimSpace(string(content))
	if !strings.HasPrefix(trimmed, "{") || json.Unmarshal([]byte(trimmed), &said) != nil {
		return trimmed, ""
	}
	for _, candidate := range []string{said.Text, said.Message, said.Error} {
		if candidate != "" {
			return candidate, string(said.Details.ConflictsWith)
		}
	}
	return "", string(said.Details.ConflictsWith)
}

// longestAfter limits the wait that a service may request.
const longestAfter = 5 * time.Minute

// retryAfter reads how many seconds a service asks clients to wait; this service sends no dates.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestAfter)
}

// Word is a string that some responses write as a number, such as job ids.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("read a text: %w", err)
		}
		*w = Word(s)
		return nil
	}
	if string(text) == "null" {
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("neither text nor a number: %w", err)
	}
	*w = Word(n)
	return nil
}
