// Package fake is the common part of the fakes of services: a server that records each request, fails on demand, and
// can be run alone.
//
// A fake provides the Service; tests of operators and of whole servers use it in place of the real service. Only fakes
// and tests may import the package.
package fake

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Service is the service that a fake imitates. Its methods may be called concurrently.
type Service interface {
	// Answer handles a request.
	Answer(q Request, r *http.Request) Answer
	// Refuse returns the service's own form of Throttled, Limited, Broken or Away.
	Refuse(f Fault) Answer
}

// Answer is a response that can be written with a fault.
type Answer interface {
	Write(w http.ResponseWriter, f Fault)
}

// Request is a received request.
type Request struct {
	Method, Path string
	Query        url.Values
	Form         url.Values // the content, if it is a form
	Body         string     // any other content
	Agent        string
}

// String returns the request as a line: the method, the path, and the sorted parameters.
func (r Request) String() string {
	line := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		line += "?" + r.Query.Encode()
	}
	if len(r.Form) > 0 {
		line += " " + r.Form.Encode()
	}
	if r.Body != "" {
		line += " " + r.Body
	}
	return line
}

// Server serves a fake. Its methods may be called at any time.
type Server struct {
	service Service
	kinds   []Fault
	hidden  string

	mu       sync.Mutex
	faults   Faults
	requests []Request
	hook     func(n int, r Request, answered bool)
}

// New returns a server. kinds lists the faults that occur at random. Requests for the path hidden are not recorded:
// they have the number 0 and no random faults; "" means no path.
func New(s Service, kinds []Fault, hidden string) *Server {
	return &Server{service: s, kinds: kinds, hidden: hidden}
}

// Start serves on a local port until the test ends; it returns the URL.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	return at.URL
}

// StartTLS is Start with TLS; it also returns the certificate, which a client has to trust.
func (s *Server) StartTLS(t testing.TB) (string, *x509.Certificate) {
	t.Helper()
	at := httptest.NewTLSServer(s)
	t.Cleanup(at.Close)
	return at.URL, at.Certificate()
}

// Fail sets the faults from now on.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// OnRequest calls f for the n-th recorded request, from 1, before it is handled and again before it is answered.
func (s *Server) OnRequest(f func(n int, r Request, answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Requests lists the recorded requests, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, fault, after := s.record(q)
	s.call(n, q, false)
	switch fault {
	case Cut:
		panic(http.ErrAbortHandler)
	case Throttled, Limited, Broken, Away:
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		s.service.Refuse(fault).Write(w, None)
		return
	}
	answer := s.service.Answer(q, r)
	s.call(n, q, true)
	switch fault {
	case Lost:
		panic(http.ErrAbortHandler)
	case Nonsense:
		io.WriteString(w, "<html>not what you expect</html>")
	case HugeHeader:
		for range 4096 {
			w.Header().Add("X-Much", strings.Repeat("x", 300))
		}
	default:
		answer.Write(w, fault)
	}
}

// record records a request, and returns its number and its fault.
func (s *Server) record(q Request) (n int, f Fault, after string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden == "" || q.Path != s.hidden {
		s.requests = append(s.requests, q)
		n = len(s.requests)
	}
	return n, s.faults.of(n, q.Path, s.kinds), s.faults.After
}

// call passes a recorded request to the hook.
func (s *Server) call(n int, q Request, answered bool) {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil && n > 0 {
		hook(n, q, answered)
	}
}

func read(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, fmt.Errorf("read the request: %w", err)
	}
	q := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Agent: r.UserAgent()}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		if q.Form, err = url.ParseQuery(string(body)); err != nil {
			return Request{}, fmt.Errorf("read the form: %w", err)
		}
		return q, nil
	}
	q.Body = string(body)
	return q, nil
}
