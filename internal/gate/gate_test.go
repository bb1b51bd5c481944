package gate

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// served is a server behind a gate.
func served(t *testing.T, g *Gate, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: g.Handler(h, "/always"), ConnState: g.State, MaxHeaderBytes: MaxHeaderBytes, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(g.Listener(l)) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// firstLine is what a connection is answered; "" when it was ended.
func firstLine(c net.Conn) string {
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\r\n")
	return line
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// TestIdlestGoes proves that a connection beyond the bound ends the one that is without a
// request for longest, and none that has one.
func TestIdlestGoes(t *testing.T) {
	t.Parallel()
	g := New(3)
	begun, end := make(chan struct{}), make(chan struct{})
	address := served(t, g, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			close(begun)
			<-end
		}
	}))
	busy := dial(t, address, strings.Replace(get, "/", "/long", 1))
	<-begun
	older := dial(t, address, get)
	if got := firstLine(older); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	newer := dial(t, address, get)
	if got := firstLine(newer); got != "HTTP/1.1 200 OK" {
		t.Fatal(got)
	}
	if got := firstLine(dial(t, address, get)); got != "HTTP/1.1 200 OK" {
		t.Errorf("one more: %q", got)
	}
	if got := firstLine(older); got != "" {
		t.Errorf("the idlest is answered %q", got)
	}
	close(end)
	if got := firstLine(busy); got != "HTTP/1.1 200 OK" {
		t.Errorf("the busy one: %q", got)
	}
}

// TestLongestHeadersGo proves that unfinished headers have a bound together, and that it ends
// those who sent most.
func TestLongestHeadersGo(t *testing.T) {
	t.Parallel()
	g := New(1000)
	short := &conn{gate: g}
	g.admit(short)
	g.came(short, 100)
	for range 1000 {
		c := &conn{TCPConn: &net.TCPConn{}, gate: g} // closed already: ending it is an error nobody reads
		if g.admit(c) {
			g.came(c, 30<<10)
		}
	}
	if g.pending > maxPending || g.pending < maxPending/2 {
		t.Errorf("%d bytes pending, want at most %d", g.pending, maxPending)
	}
	if _, there := g.conns[short]; !there {
		t.Error("the short one was ended")
	}
	g.State(short, http.StateActive)
	g.State(short, http.StateClosed)
	sum := 0
	for c := range g.conns {
		sum += c.pending
	}
	if sum != g.pending {
		t.Errorf("%d bytes are counted, %d are there", g.pending, sum)
	}
}

// TestFull proves that requests beyond the bound are told to come again, but for the path
// that is always answered.
func TestFull(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}, 9), make(chan struct{})
	address := served(t, New(10), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			begun <- struct{}{}
			<-end
		}
	}))
	defer close(end)
	for range 9 {
		dial(t, address, strings.Replace(get, "/", "/long", 1))
		<-begun
	}
	if got := firstLine(dial(t, address, get)); got != "HTTP/1.1 503 Service Unavailable" {
		t.Errorf("one more: %q", got)
	}
	if got := firstLine(dial(t, address, strings.Replace(get, "/", "/always", 1))); got != "HTTP/1.1 200 OK" {
		t.Errorf("always: %q", got)
	}
}

// BenchmarkRead shows what counting costs.
func BenchmarkRead(b *testing.B) {
	g := New(4096)
	c := &conn{gate: g}
	g.admit(c)
	for b.Loop() {
		g.came(c, 1)
		g.State(c, http.StateActive)
		g.State(c, http.StateIdle)
	}
}
