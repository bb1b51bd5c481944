package api

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is an unsuccessful response.
type Error struct {
	Status       int
	Method, Path string
	// Text is Google's message, and Reason its error code; both may be "".
	Text, Reason string
	// After is how long Google asks clients to wait; 0 if it does not.
	After time.Duration
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Reason != "" {
		text += " [" + e.Reason + "]"
	}
	return text + " at " + e.Method + " " + e.Path
}

// Kind returns the word that Digdag users see after the text.
func (e *Error) Kind() string { return "google json response" }

// Unreadable is a successful response with unreadable content.
type Unreadable struct{ Path, Why string }

func (e *Unreadable) Error() string {
	return fmt.Sprintf("the response of Google to %s cannot be read: %s", e.Path, e.Why)
}

// Kind returns the word that Digdag users see after the text.
func (e *Unreadable) Kind() string { return "io" }

// unsent is a call without a response.
type unsent struct {
	method, path string
	err          error
}

func (e *unsent) Error() string {
	return fmt.Sprintf("Google is not responding: %s %s: %v", e.method, e.path, e.err)
}

func (e *unsent) Unwrap() error { return e.err }

// Kind returns the word that Digdag users see after the text.
func (e *unsent) Kind() string { return "io" }

func unanswered(r request, err error) error { return &unsent{r.method, r.path, plain(err)} }

// plain returns an error without the address that net/url adds.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Is reports whether an error is a response with the given status.
func Is(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Temporary reports whether a retry may succeed: throttling, an outage, no response.
func Temporary(err error) bool {
	var answer *Error
	var token *TokenError
	var cut *unsent
	var certificate *tls.CertificateVerificationError
	var refused interface{ Lasting() bool } // by the host, see internal/egress
	switch {
	case errors.As(err, &answer):
		return temporary(answer.Status) || answer.Status == http.StatusForbidden && slices.Contains([]string{"rateLimitExceeded", "userRateLimitExceeded", "jobRateLimitExceeded", "backendError"}, answer.Reason)
	case errors.As(err, &certificate), errors.As(err, &refused) && refused.Lasting():
		return false
	case errors.As(err, &token):
		return temporary(token.Status)
	}
	return errors.As(err, &cut)
}

func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status < 400 && status >= 200 || status >= 500
}

// After returns how long Google asks clients to wait; 0 if it does not ask.
func After(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// mostText limits how much of a response is shown, in bytes.
const mostText = 8 << 10

// refusal reads an unsuccessful response. A response that does not have Google's error format may come from elsewhere,
// such as a proxy, and is shown only in part.
func refusal(r request, answer *http.Response, content []byte) error {
	e := &Error{Status: answer.StatusCode, Method: r.method, Path: r.path, After: retryAfter(answer.Header.Get("Retry-After"))}
	var said struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
			Status string `json:"status"`
		} `json:"error"`
	}
	if json.Unmarshal(content, &said) != nil {
		e.Text = bounded(string(content), 200)
		return e
	}
	e.Text, e.Reason = bounded(said.Error.Message, mostText), said.Error.Status
	if len(said.Error.Errors) > 0 && said.Error.Errors[0].Reason != "" {
		e.Reason = said.Error.Errors[0].Reason
	}
	e.Reason = bounded(e.Reason, 200)
	return e
}

// bounded truncates a string to at most most bytes of valid UTF-8.
func bounded(text string, most int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "�"))
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// longestAfter limits the wait that a service may request.
const longestAfter = 5 * time.Minute

// retryAfter reads how many seconds a service asks clients to wait.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestAfter)
}
