package http

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// impossible is a failure that would recur on every retry.
type impossible struct{ message string }

func (e *impossible) Error() string { return e.message }

// client returns the host's client, which follows redirects without headers that are meant only for the task's server:
// a server must not be able to choose who gets the task's secrets.
func (r *request) client() *http.Client {
	connection := r.connection
	for _, h := range r.headers {
		connection.Headers = append(connection.Headers, h.name)
	}
	c := *r.task.HTTP.Client(connection)
	check := c.CheckRedirect
	c.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if r.connection.MaxRedirects > 0 && len(via) > r.connection.MaxRedirects {
			return &impossible{"too many redirects"}
		}
		if check != nil {
			if err := check(next, via); err != nil {
				return err
			}
		}
		return r.redirected(next, via[0].URL)
	}
	return &c
}

// redirected checks a request to which a response redirects, before it is sent.
func (r *request) redirected(next *http.Request, own *url.URL) error {
	switch {
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return &impossible{"redirected to a non-HTTP address"}
	case origin(next.URL) == origin(own):
		return nil
	case next.Body != nil && next.Body != http.NoBody && r.body != nil && r.body.secret:
		return &impossible{"redirected to " + origin(next.URL) + " with a body that contains a secret: if this is intended, write that address in the task"}
	}
	for _, h := range r.headers {
		if h.secret {
			next.Header.Del(h.name)
		}
	}
	return nil
}

// origin returns scheme, host and port: the recipient that a secret is meant for.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// lastingFailure reports whether net/http refused to send a request at all, or the host refused to connect to its
// address.
func lastingFailure(err error) bool {
	var refused interface{ Lasting() bool }
	var address *net.AddrError
	return errors.As(err, &refused) && refused.Lasting() || errors.As(err, &address) ||
		strings.Contains(err.Error(), "unsupported protocol scheme") || strings.Contains(err.Error(), "failed to parse Location header")
}
