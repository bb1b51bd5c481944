package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Variable names the environment variable that names a PostgreSQL database, as HOST:PORT/DATABASE/USER, with which
// tests of one server run against two.
const Variable = "ZERODAG_POSTGRESQL"

// Place is a schema in a database that servers share.
type Place struct{ host, port, database, user, Schema string }

// Found returns a new schema in the database that the environment names, or false if it names none.
func Found() (Place, bool) {
	parts := strings.Split(os.Getenv(Variable), "/")
	if len(parts) != 3 {
		return Place{}, false
	}
	host, port, err := net.SplitHostPort(parts[0])
	return Place{host, port, parts[1], parts[2], "s" + strings.ToLower(rand.Text()[:12])}, err == nil
}

// connections is how many connections each server has to the database, because tests start many servers.
const connections = 8

// Key encrypts the secrets of servers that share a database.
const Key = "0123456789abcdef"

// URL returns the address of the database.
func (p Place) URL() string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", p.user, net.JoinHostPort(p.host, p.port), p.database)
}

// Options returns the options of servers that share the place.
func (p Place) Options() []string {
	var options []string
	for key, value := range map[string]string{"type": "postgresql", "host": p.host, "port": p.port, "database": p.database, "user": p.user,
		"schema": p.Schema, "maximumPoolSize": strconv.Itoa(connections)} {
		options = append(options, "-X", "database."+key+"="+value)
	}
	return append(options, "-X", "digdag.secret-encryption-key="+base64.StdEncoding.EncodeToString([]byte(Key)))
}

// group is a set of servers that share a database, with a proxy that sends each request to the next server, like a load
// balancer.
type group struct {
	servers []*Server
	proxy   *httptest.Server
	turn    atomic.Int64
	killed  int
}

const groupSize = 2

// Join makes a server that shares the place, without starting it.
func (p Place) Join(t testing.TB, program string, options ...string) *Server {
	return join(t, program, append(p.Options(), options...))
}

func join(t testing.TB, program string, options []string) *Server {
	s := &Server{t: t, program: program, folder: t.TempDir(), options: options}
	s.keeps = []string{"-X", "server.folder=" + s.Data()}
	t.Cleanup(func() { s.Kill() })
	return s
}

// Replace makes the server run a different program from its next start.
func (s *Server) Replace(program string) { s.program = program }

func newGroup(t testing.TB, program string, options []string) *group {
	g := &group{}
	for range groupSize {
		g.servers = append(g.servers, join(t, program, options))
	}
	g.proxy = httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(*httputil.ProxyRequest) {}, Transport: g,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}) // a client gets no response, as from a killed server
	t.Cleanup(g.proxy.Close)
	return g
}

// RoundTrip sends a request to the server whose turn it is, or to the next one if that server does not listen.
func (g *group) RoundTrip(r *http.Request) (*http.Response, error) {
	var last error
	for range g.servers {
		s := g.servers[int(g.turn.Add(1))%len(g.servers)]
		s.mu.Lock()
		to, running := s.url, s.cmd != nil
		s.mu.Unlock()
		if !running {
			last = errors.New("the server is not running")
			continue
		}
		u, err := url.Parse(to)
		if err != nil {
			return nil, err
		}
		out := r.Clone(r.Context())
		if r.Body != nil {
			out.Body = io.NopCloser(r.Body) // a transport closes it, and the next server may have to read it
		}
		out.URL.Scheme, out.URL.Host, out.Host = u.Scheme, u.Host, r.Host
		response, err := transport.RoundTrip(out)
		if refused := (*net.OpError)(nil); err != nil && errors.As(err, &refused) && refused.Op == "dial" {
			last = err
			continue // nothing was sent
		}
		return response, err
	}
	return nil, last
}

// transport reuses no connections, because a killed server leaves broken ones.
var transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}}

func (g *group) start() {
	for _, s := range g.servers {
		if s.cmd == nil {
			s.Start()
		}
	}
}

func (g *group) kill() {
	g.servers[g.killed%len(g.servers)].Kill()
	g.killed++
}

func (g *group) log() string {
	var all strings.Builder
	for _, s := range g.servers {
		all.WriteString(s.Log())
	}
	return all.String()
}
