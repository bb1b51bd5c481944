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

// served starts a server behind a gate and returns its address.
func served(t *testing.T, g *Gate, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: g.Handler(h, "/always"), ConnState: g.State, ConnContext: g.Context, MaxHeaderBytes: MaxHeaderBytes, ReadHeaderTimeout: time.Minute}
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

// firstLine returns the first line of the response on a connection; "" if the connection was ended.
func firstLine(c net.Conn) string {
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	line, _, _ := strings.Cut(string(b[:n]), "\r\n")
	return line
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// TestIdlestGoes proves that a connection beyond the limit ends the connection that has been without a request the
// longest, and never one that has a request.
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

// TestLongestHeadersGo proves that unfinished headers have a common limit, and that exceeding it ends the connections
// that sent the most.
func TestLongestHeadersGo(t *testing.T) {
	t.Parallel()
	g := New(1000)
	short := &conn{gate: g}
	g.admit(short)
	g.came(short, make([]byte, 100))
	for range 1000 {
		c := &conn{TCPConn: &net.TCPConn{}, gate: g} // already closed: ending it returns an error that is ignored
		if g.admit(c) {
			g.came(c, make([]byte, 30<<10))
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

// TestLingering proves that connections that wait for their clients after the response do not cause others to be
// refused.
func TestLingering(t *testing.T) {
	t.Parallel()
	address := served(t, New(4), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 100 {
		c := dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got := firstLine(c); got != "HTTP/1.1 200 OK" {
			t.Fatalf("%q", got)
		}
	}
}

// TestFull proves that clients of requests beyond the limit are asked to retry, except for the path that is always
// served.
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

// TestHeaderLines proves that lines are counted up to the empty line, in whatever pieces they arrive, and that lines of
// a body are not counted.
func TestHeaderLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]headerLines{
		"GET / HTTP/1.1\r\nA: b\r\n\r\n\n\n{\n}\n": {n: 3, whole: true},
		"GET / HTTP/1.1\nA: b\n\nx\ny":             {n: 3, whole: true},
		"\r\nGET / HTTP/1.1\r\nA: b\r\n":           {n: 3},
		"GET / HTTP/1.1\r\nA:\r\nB: \r\n":          {n: 3},
		"GET / HTTP/1.1\r\nAB\r\nC\r\n\r\n\n":      {n: 4, whole: true},
	} {
		for cut := range len(text) {
			for second := range len(text) - cut {
				var l headerLines
				for _, part := range []string{text[:cut], text[cut : cut+second], text[cut+second:]} {
					l.count([]byte(part))
				}
				if l.n != want.n || l.whole != want.whole {
					t.Fatalf("%q cut at %d and %d: %+v, want %+v", text, cut, cut+second, l, want)
				}
			}
		}
	}
}

// TestManyHeaders proves that requests of the usual size pass, even several on one connection, and that a request with
// too many headers gets an error.
func TestManyHeaders(t *testing.T) {
	t.Parallel()
	address := served(t, New(10), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	lines := func(n int) string {
		return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n" + strings.Repeat("A: b\r\n", n) + "\r\n" + strings.Repeat("\n", 2000)
	}
	c := dial(t, address, "")
	for range 3 {
		if _, err := io.WriteString(c, lines(200)); err != nil {
			t.Fatal(err)
		}
		if got := firstLine(c); got != "HTTP/1.1 200 OK" {
			t.Fatalf("200 headers: %q", got)
		}
	}
	if got := firstLine(dial(t, address, lines(300))); got != "HTTP/1.1 431 Request Header Fields Too Large" {
		t.Errorf("300 headers: %q", got)
	}
}

// BenchmarkRead measures the cost of counting.
func BenchmarkRead(b *testing.B) {
	g := New(4096)
	c := &conn{gate: g}
	g.admit(c)
	request := []byte("GET /api/attempts/1 HTTP/1.1\r\nHost: localhost:65432\r\nUser-Agent: DigdagClient/0.10.5\r\nAccept: application/json\r\n\r\n")
	for b.Loop() {
		g.came(c, request)
		g.State(c, http.StateActive)
		g.State(c, http.StateIdle)
	}
}
