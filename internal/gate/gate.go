// Package gate limits the resources of an HTTP server that callers can use before they are identified: connections, and
// the memory of incomplete headers.
//
// The server puts a gate in front of each listener. It must never inspect more of a request than its line ends, and
// never end a connection that carries a request.
package gate

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// MaxHeaderBytes is the maximum size of one request's headers (http.Server.MaxHeaderBytes).
const MaxHeaderBytes = 32 << 10

// maxLines is the maximum number of headers of a request: tiny headers take up ten times their size once they are
// parsed. Digdag accepts 200.
const maxLines = 256

// maxPending limits the bytes of unfinished headers of all connections together.
const maxPending = 4 << 20

// Gate limits one listener's connections.
type Gate struct {
	most      int
	encrypted bool

	mu      sync.Mutex
	conns   map[*conn]struct{}
	pending int // bytes of unfinished headers of all connections
	active  int // requests under way
}

// Most returns how many connections each of the listeners may have unless the configuration sets a number: together,
// half of the files that the process may open. The other half is for its work.
func Most(listeners int) int {
	files, known := openFiles()
	if !known {
		return 128
	}
	return int(min(files, 2*enough*uint64(listeners)) / 2 / uint64(listeners)) // at most a few thousand
}

// enough is a listener's limit if there are plenty of descriptors: about 40 MB of idle connections.
const enough = 4096

// New creates a gate for up to `most` connections, but for at least 2.
func New(most int) *Gate { return &Gate{most: max(most, 2), conns: map[*conn]struct{}{}} }

// Encrypted makes the gate expect TLS, in which it cannot see lines. It returns the gate.
func (g *Gate) Encrypted() *Gate {
	g.encrypted = true
	return g
}

// conn is a connection. Its fields are guarded by its gate.
type conn struct {
	*net.TCPConn
	gate    *Gate
	since   time.Time // since when it has had no request
	busy    bool      // it has a request
	running int       // how many handlers serve its requests: several with HTTP/2
	over    bool      // all handlers have returned, and only the client is slow
	pending int       // bytes of unfinished headers
	lines   headerLines
}

// Read counts the bytes that are received before a request is complete.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 && !c.gate.came(c, p[:n]) {
		_, _ = c.TCPConn.Write([]byte(tooMany)) // the client is gone
		c.TCPConn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

const tooMany = "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// headerLines counts lines up to the empty line after the headers.
type headerLines struct {
	n     int
	begun int  // the number of bytes of the line so far
	blank bool // the line is empty so far, or has only the CR of an empty line
	whole bool
}

func (l *headerLines) count(p []byte) {
	for !l.whole && len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		l.blank = l.begun == 0 && len(part) == 0 || l.begun+len(part) == 1 && (l.blank && l.begun == 1 || len(part) == 1 && part[0] == '\r')
		l.begun += len(part)
		if end < 0 {
			return
		}
		l.whole = l.blank && l.n > 0
		l.n++
		l.begun, l.blank, p = 0, false, p[end+1:]
	}
}

// Listener returns a listener that admits the connections of another listener.
func (g *Gate) Listener(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	gate *Gate
}

// Accept waits for a connection that is admitted.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := accepted.(*net.TCPConn)
		if !ok {
			return accepted, nil // only in tests: the server listens only on TCP
		}
		c := &conn{TCPConn: tcp, gate: l.gate, since: time.Now()}
		if l.gate.admit(c) {
			return c, nil
		}
		tcp.Close()
	}
}

// admit makes room by ending the connection that has been without a request the longest, or that lingers after one. If
// all connections have a request, there is no room.
func (g *Gate) admit(c *conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.conns) >= g.most {
		idlest := g.worst(func(a, b *conn) bool { return a.since.Before(b.since) })
		if idlest == nil {
			return false
		}
		g.end(idlest)
	}
	g.conns[c] = struct{}{}
	return true
}

// came counts received bytes; false means that there are too many headers. If the unfinished headers of all connections
// take up too much memory, it disconnects the client that sent the most.
func (g *Gate) came(c *conn, p []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.conns[c]; !known || c.busy {
		return true
	}
	c.pending += len(p)
	for g.pending += len(p); g.pending > maxPending; {
		g.end(g.worst(func(a, b *conn) bool { return a.pending > b.pending }))
	}
	if g.encrypted {
		return true
	}
	c.lines.count(p)
	return c.lines.n <= maxLines+2 // including the request line and the empty line
}

// worst finds the connection without a request that comes before all others; nil if there is none.
func (g *Gate) worst(before func(a, b *conn) bool) *conn {
	var found *conn
	for c := range g.conns {
		if (!c.busy || c.over) && (found == nil || before(c, found)) {
			found = c
		}
	}
	return found
}

func (g *Gate) end(c *conn) {
	g.forget(c)
	c.TCPConn.Close()
}

func (g *Gate) forget(c *conn) {
	if _, known := g.conns[c]; known {
		g.pending -= c.pending
		delete(g.conns, c)
	}
}

// below returns the admitted connection that carries one of the server's connections.
func below(n net.Conn) (*conn, bool) {
	if secure, is := n.(*tls.Conn); is {
		n = secure.NetConn()
	}
	c, ok := n.(*conn)
	return c, ok
}

// State tracks the server's connections: it is the server's ConnState.
func (g *Gate) State(n net.Conn, s http.ConnState) {
	c, ok := below(n)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.conns[c]; !known {
		return // it has been ended
	}
	switch s {
	case http.StateActive:
		g.pending -= c.pending
		c.busy, c.over, c.pending, c.lines = true, false, 0, headerLines{}
	case http.StateIdle:
		c.busy, c.over, c.since = false, false, time.Now()
	case http.StateClosed, http.StateHijacked:
		g.forget(c)
	}
}

// Handler keeps some connections free: when nearly all carry a request, the clients of further connections are asked to
// retry, except for requests to the liveness check's path.
func (g *Gate) Handler(h http.Handler, always ...string) http.Handler {
	most := g.most - max(1, g.most/8)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.left(r)
		if g.entered(r) <= most || slices.Contains(always, r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // does not wait for its body
		header := w.Header()
		header.Set("Connection", "close")
		header.Set("Retry-After", "1")
		header.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, full) // the client is gone
	})
}

// full has the format of API errors.
const full = `{"message":"The server has reached its limit of concurrent requests (server.http.max-connections): try again","status":503}`

func (g *Gate) entered(r *http.Request) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active++
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.running++
		c.over = false
	}
	return g.active
}

func (g *Gate) left(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.running--
		c.over, c.since = c.running == 0, time.Now()
	}
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// Context gives requests access to their connection: it is the server's ConnContext.
func (g *Gate) Context(ctx context.Context, c net.Conn) context.Context {
	if admitted, ok := below(c); ok {
		return context.WithValue(ctx, connKey{}, admitted)
	}
	return ctx
}
