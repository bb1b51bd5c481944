// Package gcpfake is a server that behaves like the parts of the BigQuery and Cloud Storage APIs that handle jobs,
// datasets, tables and object metadata, with faults on demand. It issues tokens for its own credentials,
// records every request, and refuses requests that do not fit Google's own description of its APIs (google.json, see
// the program in discovery).
//
// Tests of operators and of whole servers use it in place of the services; the program in serve runs it alone. It holds
// everything in memory and does not understand SQL: a comment in the query sets what a job does, see Script.
package gcpfake

import (
	"fmt"
	"net/http"
	"sync"

	"zerodag/engine/param"
	"zerodag/integration/fake"
)

// Project is the project of the credentials.
const Project = "my-project"

// Server is a server with both services; the address that Start returns is for the secrets gcp.bigquery.endpoint and
// gcp.storage.endpoint. Requests for tokens are not recorded. Its methods may be called at any time.
type Server struct {
	*fake.Server
	mu     sync.Mutex
	world  world
	tokens tokens
}

// New returns services without datasets and objects.
func New() *Server {
	s := &Server{tokens: tokens{given: map[string]string{}}, world: world{jobs: map[string]*job{}, datasets: map[string]*dataset{}, objects: map[string]*param.Map{}}}
	s.Server = fake.New(s, []fake.Fault{fake.Throttled, fake.Limited, fake.Broken, fake.Away, fake.Cut, fake.Lost, fake.Half}, tokenPath)
	return s
}

// Refuse implements fake.Service.
func (s *Server) Refuse(f fake.Fault) fake.Answer {
	switch f {
	case fake.Throttled:
		return failed(http.StatusTooManyRequests, "rateLimitExceeded", "Too many requests.")
	case fake.Limited:
		return failed(http.StatusForbidden, "rateLimitExceeded", "Exceeded rate limits.")
	case fake.Away:
		return fake.Text{Status: http.StatusServiceUnavailable, Type: "text/plain; charset=utf-8", Content: "<html>upstream is unavailable</html>"}
	}
	return failed(http.StatusInternalServerError, "backendError", "Error encountered during execution. Retrying may solve the problem.")
}

// Answer implements fake.Service.
func (s *Server) Answer(q fake.Request, r *http.Request) fake.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Path == tokenPath {
		return s.tokens.give(q)
	}
	called, names, refused := s.check(q, r)
	if refused != nil {
		return *refused
	}
	return s.world.do(called.ID, names, q.Query, q.Body)
}

// check checks a request against Google's description of its APIs, and its token.
func (s *Server) check(q fake.Request, r *http.Request) (method, map[string]string, *answer) {
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
	if err := google().fits(called, q.Query, q.Body); err != nil {
		return refuse(failed(http.StatusBadRequest, "invalid", fmt.Sprintf("Invalid JSON payload received. %v", err)))
	}
	return called, names, nil
}
