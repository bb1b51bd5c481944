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

// Error is an answer that is no success.
type Error struct {
	Status       int
	Method, Path string
	// Text is what Google says about it, and Reason its word for that; both may be "".
	Text, Reason string
	// After is how long Google asks to be left alone; 0 where it asks for nothing.
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

// Kind is the word that users of the original see behind the text.
func (e *Error) Kind() string { return "google json response" }

// Unreadable is an answer that says yes and then something that nobody can read.
type Unreadable struct{ Path, Why string }

func (e *Unreadable) Error() string {
	return fmt.Sprintf("the answer of Google to %s cannot be read: %s", e.Path, e.Why)
}

// Kind is the word that users of the original see behind the text.
func (e *Unreadable) Kind() string { return "io" }

// unsent is a call without an answer.
type unsent struct {
	method, path string
	err          error
}

func (e *unsent) Error() string {
	return fmt.Sprintf("Google does not answer: %s %s: %v", e.method, e.path, e.err)
}

func (e *unsent) Unwrap() error { return e.err }

// Kind is the word that users of the original see behind the text.
func (e *unsent) Kind() string { return "io" }

func unanswered(r request, err error) error { return &unsent{r.method, r.path, plain(err)} }

// plain is an error without the address that net/url puts before it.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Is says whether an error is an answer with a status.
func Is(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Temporary says whether the same call may be answered later: throttled, an outage, no answer.
func Temporary(err error) bool {
	var answer *Error
	var token *TokenError
	var cut *unsent
	var certificate *tls.CertificateVerificationError
	var refused interface{ Lasting() bool } // by the host: see internal/egress
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

// After is how long Google asked to be left alone, 0 for nothing.
func After(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.After
	}
	return 0
}

// mostText bounds what is shown of an answer, in bytes.
const mostText = 8 << 10

// refusal reads an answer that is no success. What is not Google's form of an error may be of
// anybody, such as a proxy, and is shown only in part.
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

// bounded is a text that is no longer than most bytes, and valid.
func bounded(text string, most int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "�"))
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// longestAfter bounds what a service may ask for.
const longestAfter = 5 * time.Minute

// retryAfter reads how many seconds a service asks for.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestAfter)
}
