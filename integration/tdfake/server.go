// Package tdfake is a server that behaves as the API of Treasure Data does, as far as jobs, their
// results, saved queries, bulk loads, databases and tables go, with faults on demand. It records
// every request.
//
// Tests of operators and of whole servers use it in place of the service; the program in serve
// runs it alone. It holds everything in memory, and knows no SQL: what a query answers is said by
// comments of the query itself, see Script.
package tdfake

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

// Key is the key of the account.
const Key = "1/0123456789abcdef0123456789abcdef01234567"

// Request is one that came in.
type Request struct {
	Method, Path string
	Query        url.Values
	Form         url.Values // of a content that is a form
	Body         string     // of any other
	Agent        string
}

// String is the request as a line: the method, the path, and the sorted parameters.
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

// Server is the service. Its methods may be called at any time.
type Server struct {
	mu       sync.Mutex
	account  account
	faults   Faults
	requests []Request
	key      string
	hook     func(n int, r Request, answered bool)
}

// New makes a service with one empty database, sample_datasets.
func New() *Server {
	return &Server{key: Key, account: account{databases: map[string]map[string]bool{"sample_datasets": {}}, jobs: map[string]*job{}, byKey: map[string]string{},
		connections: map[string]int64{}, saved: map[string]string{}}}
}

// Start serves on a port of this machine until the test ends; it returns the endpoint.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	return strings.TrimPrefix(at.URL, "http://")
}

// StartTLS serves by TLS until the test ends; it returns the endpoint, and the certificate that a client has to trust.
func (s *Server) StartTLS(t testing.TB) (string, *x509.Certificate) {
	t.Helper()
	at := httptest.NewTLSServer(s)
	t.Cleanup(at.Close)
	return strings.TrimPrefix(at.URL, "https://"), at.Certificate()
}

// Fail sets the faults that are to happen from now on.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// SetKey makes another key the account's.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// OnRequest calls f for the n-th request, from 1, before it is dealt with and again before
// it is answered.
func (s *Server) OnRequest(f func(n int, r Request, answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Requests lists what came in, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := record(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	n, hook, fault, after := len(s.requests), s.hook, s.faults.of(len(s.requests), q.Path), s.faults.After
	s.mu.Unlock()
	if hook != nil {
		hook(n, q, false)
	}
	if fault.before(w, after) {
		return
	}
	s.mu.Lock()
	answer := s.answer(q, r.Header.Get("Authorization"))
	s.mu.Unlock()
	if hook != nil {
		hook(n, q, true)
	}
	if fault.after(w) {
		return
	}
	answer.write(w, fault)
}

func record(r *http.Request) (Request, error) {
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
