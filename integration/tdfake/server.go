// Package tdfake is a server that behaves like the parts of the Treasure Data API that handle jobs, their results, saved
// queries, bulk loads, databases and tables, with faults on demand. It records every request.
//
// Tests of operators and of whole servers use it in place of the service; the program in serve runs it alone. It holds
// everything in memory and does not understand SQL: comments in a query set its response, see Script.
package tdfake

import (
	"crypto/x509"
	"net/http"
	"strings"
	"sync"
	"testing"

	"zerodag/integration/fake"
)

// Key is the key of the account.
const Key = "1/0123456789abcdef0123456789abcdef01234567"

// Server imitates the service. Its methods may be called at any time.
type Server struct {
	*fake.Server
	mu      sync.Mutex
	account account
	key     string
}

// New returns a service with one empty database, sample_datasets.
func New() *Server {
	s := &Server{key: Key, account: account{databases: map[string]map[string]bool{"sample_datasets": {}}, jobs: map[string]*job{}, byKey: map[string]string{},
		connections: map[string]int64{}, saved: map[string]string{}}}
	s.Server = fake.New(s, []fake.Fault{fake.Throttled, fake.Broken, fake.Away, fake.Cut, fake.Lost, fake.Half}, "")
	return s
}

// Start serves on a local port until the test ends; it returns the endpoint.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	return strings.TrimPrefix(s.Server.Start(t), "http://")
}

// StartTLS serves with TLS until the test ends; it returns the endpoint and the certificate that a client has to trust.
func (s *Server) StartTLS(t testing.TB) (string, *x509.Certificate) {
	t.Helper()
	at, certificate := s.Server.StartTLS(t)
	return strings.TrimPrefix(at, "https://"), certificate
}

// SetKey changes the key of the account.
func (s *Server) SetKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Refuse implements fake.Service.
func (s *Server) Refuse(f fake.Fault) fake.Answer {
	switch f {
	case fake.Throttled:
		return plain(http.StatusTooManyRequests, `{"error":"throttled","text":"too many requests"}`)
	case fake.Away:
		return plain(http.StatusServiceUnavailable, "Service Unavailable")
	}
	return plain(http.StatusInternalServerError, `{"error":"broken","text":"internal error"}`)
}

func plain(status int, text string) fake.Text {
	return fake.Text{Status: status, Type: "text/plain; charset=utf-8", Content: text}
}
