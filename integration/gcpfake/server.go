// Package gcpfake is a server that behaves as the APIs of BigQuery and Cloud Storage do, as far as
// jobs, datasets, tables and what is known of objects go, with faults on demand. It gives tokens
// for credentials of its own, records every request, and refuses those that do not fit Google's
// own description of its APIs (google.json, see the program in discovery).
//
// Tests of operators and of whole servers use it in place of the services; the program in serve
// runs it alone. It holds everything in memory, and knows no SQL: what a job does is said by a
// comment of its query, see Script.
package gcpfake

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"zerodag/engine/param"
)

// Project is that of the credentials.
const Project = "my-project"

// Request is one that came in.
type Request struct {
	Method, Path, Query, Body string
}

// String is the request as a line.
func (r Request) String() string {
	line := r.Method + " " + r.Path
	if r.Query != "" {
		line += "?" + r.Query
	}
	if r.Body != "" {
		line += " " + r.Body
	}
	return line
}

// Server is the services. Its methods may be called at any time.
type Server struct {
	mu       sync.Mutex
	world    world
	tokens   tokens
	faults   Faults
	requests []Request
	hook     func(n int, r Request, answered bool)
}

// New makes services without a dataset, and without an object.
func New() *Server {
	return &Server{tokens: tokens{given: map[string]string{}}, world: world{jobs: map[string]*job{}, datasets: map[string]*dataset{}, objects: map[string]*param.Map{}}}
}

// Start serves on a port of this machine until the test ends; it returns the address, for the
// secrets gcp.bigquery.endpoint and gcp.storage.endpoint.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	return at.URL
}

// Fail sets the faults that are to happen from now on.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// OnRequest calls f for the n-th request of an API, from 1, before it is dealt with and again
// before it is answered.
func (s *Server) OnRequest(f func(n int, r Request, answered bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Requests lists what came in for the APIs, in order, without the requests for tokens.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q := Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Body: string(body)}
	n := 0
	s.mu.Lock()
	if q.Path != tokenPath {
		s.requests = append(s.requests, q)
		n = len(s.requests)
	}
	hook, fault, after := s.hook, s.faults.of(n, q.Path), s.faults.After
	s.mu.Unlock()
	if hook != nil && n > 0 {
		hook(n, q, false)
	}
	if fault.before(w, after) {
		return
	}
	s.mu.Lock()
	answer := s.answer(q, r)
	s.mu.Unlock()
	if hook != nil && n > 0 {
		hook(n, q, true)
	}
	fault.write(w, answer)
}

// answer deals with a request.
func (s *Server) answer(q Request, r *http.Request) answer {
	if q.Path == tokenPath {
		return s.tokens.give(q.Body)
	}
	called, names, refused := s.check(q, r)
	if refused != nil {
		return *refused
	}
	return s.world.do(called.ID, names, r.URL.Query(), q.Body)
}

// check holds a request against Google's description of its APIs, and looks at its token.
func (s *Server) check(q Request, r *http.Request) (method, map[string]string, *answer) {
	refuse := func(a answer) (method, map[string]string, *answer) { return method{}, nil, &a }
	called, names, err := google().find(q.Method, q.Path)
	if err != nil {
		return refuse(failed(http.StatusNotFound, "notFound", err.Error()))
	}
	scope, known := s.tokens.scope(r.Header.Get("Authorization"))
	switch {
	case !known:
		return refuse(failed(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials."))
	case !allows(scope, called.ID):
		return refuse(failed(http.StatusForbidden, "insufficientPermissions", "Request had insufficient authentication scopes."))
	}
	if err := google().fits(called, r.URL.Query(), q.Body); err != nil {
		return refuse(failed(http.StatusBadRequest, "invalid", fmt.Sprintf("Invalid JSON payload received. %v", err)))
	}
	return called, names, nil
}
