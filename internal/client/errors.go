package client

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// StatusError is an error response from the server.
type StatusError struct {
	Status int
	Body   string
	hint   string // what to do about it; "" for none
	// Unknown is the name that does not exist, if a list showed that it is missing.
	Unknown Unknown
	// turnedAway means that the request was rejected before any work began, each time it was sent.
	turnedAway bool
}

// Unknown is a name that does not exist.
type Unknown struct {
	Kind    string // "project", "workflow" or "schedule"; "" if the kind is not known
	Project ID     // the project of the workflow or schedule
	Name    string
}

// soon is how quickly API Gateway responds when it rejects a request. It uses the same wording when a function has
// worked on the request for 30 seconds.
const soon = 20 * time.Second

// isGateways reports whether API Gateway refused a request before any work on it began, because there were too many
// requests or the account had no capacity for another function call. It recognizes API Gateway's wording for both: a
// 503 from the server or from another proxy may mean that work has begun, and the server's own 429 states when to
// retry.
func (e *StatusError) isGateways(took time.Duration) bool {
	switch e.Status {
	case http.StatusTooManyRequests:
		return e.Body == `{"message":"Too Many Requests"}`
	case http.StatusServiceUnavailable:
		return e.Body == `{"message":"Service Unavailable"}` && took < soon
	}
	return false
}

// Error returns the text that Digdag's command line shows (wire.md 3.4), and what to do.
func (e *StatusError) Error() string {
	if e.hint != "" {
		return e.text() + "\nhint: " + e.hint
	}
	return e.text()
}

func (e *StatusError) text() string {
	switch e.Status {
	case http.StatusNotFound:
		return "Resource not found: " + e.Body
	case http.StatusConflict:
		return "Request conflicted: " + e.Body
	case http.StatusUnprocessableEntity:
		return "Invalid option: " + e.Body
	}
	return fmt.Sprintf("Status code %d: %s", e.Status, e.Body)
}

// accessHint explains how a refused request was authenticated, and what to do.
func (c *transport) accessHint(status int) string {
	if c.Access == "" {
		return ""
	}
	switch {
	case status == http.StatusUnauthorized:
		return "the request was made " + c.Access + ": check that, or use --token TOKEN (ZERODAG_TOKEN), --basic-auth USER:PASSWORD or --iam"
	case status == http.StatusForbidden && c.Sign != nil:
		return "the request was made " + c.Access + ": `aws sts get-caller-identity` shows the caller, who needs a policy that allows execute-api:Invoke on the API of the deployment; the clock of this machine must be correct"
	case status == http.StatusForbidden:
		return "the request was made " + c.Access + ": `zerodag whoami` shows your role"
	}
	return ""
}

// IsMissing reports whether an error means that the object does not exist.
func IsMissing(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsDenied reports whether an error means that the caller's role is too low.
func IsDenied(err error) bool { return hasStatus(err, http.StatusForbidden) }

// IsConflict reports whether an error is a conflict with an existing object.
func IsConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

func hasStatus(err error, status int) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Status == status
}

// missing returns the error for a list that lacks the requested element.
func missing(u Unknown, where string) error {
	return &StatusError{Status: http.StatusNotFound, Body: fmt.Sprintf("%s not found%s: %s", u.Kind, where, u.Name), Unknown: u}
}

// Unreachable means that no server responds.
type Unreachable struct {
	URL   string
	cause error
}

func (e *Unreachable) Error() string {
	if u, err := url.Parse(e.URL); err == nil && u.Scheme == "http" && u.Port() == "" && errors.Is(e.cause, errRefused) {
		return fmt.Sprintf("no server answers at %s: %v\nhint: this address has no port, so port 80 was used; a server listens on port %s by default: --endpoint %s:%s", e.URL, e.cause, defaultPort, u.Hostname(), defaultPort)
	}
	return fmt.Sprintf("no server answers at %s: %v\nhint: start one with `zerodag server`, or name a different one with --endpoint URL, with ZERODAG_ENDPOINT, or with client.http.endpoint in the configuration file", e.URL, e.cause)
}

func (e *Unreachable) Unwrap() error { return e.cause }

// connectError turns a network error into an error for users.
func (c *transport) connectError(err error) error {
	var op *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name):
		return &Unreachable{c.base, fmt.Errorf("unknown host name %s", name.Name)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Unreachable{c.base, errRefused}
	case errors.As(err, &op) && op.Op == "dial":
		return &Unreachable{c.base, op.Err}
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return &mistake{fmt.Errorf("%s does not speak TLS: use http:// as the endpoint", c.base)}
	case errors.As(err, &certificate):
		return &mistake{fmt.Errorf("certificate of %s: %w\nhint: --disable-cert-validation accepts any certificate", c.base, certificate.Err)}
	}
	return fmt.Errorf("request to %s: %w", c.base, err)
}

// mistake is an error that retrying cannot fix.
type mistake struct{ error }

func (m *mistake) Unwrap() error { return m.error }

var errRefused = errors.New("connection refused")

// statusError reads the server's message about a failure.
func statusError(r *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	text := strings.TrimSpace(string(body))
	if err != nil || text == "" {
		text = fmt.Sprintf("HTTP %d %s", r.StatusCode, http.StatusText(r.StatusCode))
	}
	e := &StatusError{Status: r.StatusCode, Body: text}
	if to := r.Header.Get("Location"); to != "" && r.StatusCode >= 300 && r.StatusCode < 400 {
		e.hint = "the response redirects to " + to + ": name the server itself with --endpoint, with https:// if it requires that, and not a login page"
	}
	return e
}

// Message returns the server's message in an error response; "" if it has no readable one.
func Message(err error) string {
	var status *StatusError
	var body struct {
		Message string `json:"message"`
	}
	if !errors.As(err, &status) || json.Unmarshal([]byte(status.Body), &body) != nil {
		return ""
	}
	return body.Message
}
