package security

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// dials opens n connections at once and writes to each until the server refuses.
func (s *server) dials(n int, write func(i int, c net.Conn)) {
	s.t.Helper()
	var all sync.WaitGroup
	conns := make([]net.Conn, n)
	for i := range n {
		all.Go(func() {
			c, err := net.Dial("tcp", s.Addr)
			if err != nil {
				return // the server accepts no more
			}
			conns[i] = c
			_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
			write(i, c)
		})
	}
	all.Wait()
	s.t.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	})
}

// TestH5_HeadersWithoutEnd checks that endless headers take hardly any memory, whatever their number and form, and that
// the server answers meanwhile.
func TestH5_HeadersWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]func(i int) string{
		"tiny":  func(i int) string { return fmt.Sprintf("%x:\r\n", i) },
		"large": func(i int) string { return fmt.Sprintf("X-%d: %s\r\n", i, strings.Repeat("x", 1000)) },
	} {
		for size, bytes := range map[string]int{"1 MB": 1 << 20, "30 KB": 30 << 10} {
			t.Run(name+" "+size, func(t *testing.T) {
				t.Parallel()
				s := serve(t)
				var text strings.Builder
				text.WriteString("GET /api/version HTTP/1.1\r\nHost: " + s.Addr + "\r\n")
				for i := 0; text.Len() < bytes; i++ {
					text.WriteString(piece(i))
				}
				before := s.memory("VmHWM")
				s.dials(600, func(_ int, c net.Conn) { _, _ = io.WriteString(c, text.String()) })
				began := time.Now()
				if a := s.call(http.MethodGet, "/api/health", nil); a.Status != http.StatusOK {
					t.Errorf("health: %d", a.Status)
				}
				grown := s.memory("VmHWM") - before
				t.Logf("600 connections: %d MB at most, health after %v", grown>>10, time.Since(began))
				if grown > 100<<10 {
					t.Errorf("%d MB more memory, want 100 at most", grown>>10)
				}
			})
		}
	}
}

// TestH5_LongHeader checks that a header of usual length is accepted and a long one refused.
func TestH5_LongHeader(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for size, status := range map[int]int{16 << 10: 200, 64 << 10: 431} {
		if a := s.call("GET", "/api/projects", nil, "X-Long", strings.Repeat("x", size)); a.Status != status {
			t.Errorf("%d bytes: %d, want %d", size, a.Status, status)
		}
	}
}

// TestH5_BodiesOfStrangers checks that a rejected caller cannot hold a connection with a body that never arrives.
func TestH5_BodiesOfStrangers(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.authenticator.type=token", "-X", "server.http.max-connections=16")
	s.dials(60, func(i int, c net.Conn) {
		length := []string{"Content-Length: 1000", "Transfer-Encoding: chunked"}[i%2]
		_, _ = io.WriteString(c, "PUT /api/projects?project=p&revision=r HTTP/1.1\r\nHost: x\r\nContent-Type: application/gzip\r\n"+length+"\r\n\r\n")
	})
	began, answered := time.Now(), 0
	until(t, "the server answers everybody again", func() bool {
		r, err := http.Get("http://" + s.Addr + "/api/version")
		if err != nil {
			answered = 0
			return false
		}
		r.Body.Close()
		if answered++; r.StatusCode != http.StatusOK {
			answered = 0
		}
		return answered == 100
	})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that took %v", took)
	}
}

// TestM6_IdleConnections checks that connections cannot use up the descriptors that workflows need: with 256
// descriptors and 400 idle connections, the health endpoint answers, a running attempt continues and new ones succeed.
func TestM6_IdleConnections(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	s.before = "ulimit -n 256"
	s.boot()
	s.push(map[string]string{"main.dig": "+a:\n  sh>: sleep 2\n+b:\n  loop>: 10\n  _parallel: true\n  _do:\n    +c:\n      sh>: echo x\n"})
	running := s.start("main", "2024-01-01T00:00:00Z")
	for _, first := range []string{"", "GET /api/health HTTP/1.1\r\nHost: " + s.Addr + "\r\n\r\n", "GET /api/health HTTP/1.1\r\n"} {
		s.dials(400, func(_ int, c net.Conn) { _, _ = io.WriteString(c, first) })
		for range 20 {
			began := time.Now()
			if a := s.call(http.MethodGet, "/api/health", nil); a.Status != http.StatusOK || time.Since(began) > 30*time.Second {
				t.Errorf("health: %d after %v", a.Status, time.Since(began))
			}
		}
	}
	if !s.succeeded(running) {
		t.Error("the running attempt failed")
	}
	if next := s.start("main", "2024-01-02T00:00:00Z"); !s.succeeded(next) {
		t.Error("the next attempt failed")
	}
}

// TestM6_Streams checks that long requests leave room for health checks of the server: requests beyond the limit are
// told to try again.
func TestM6_Streams(t *testing.T) {
	t.Parallel()
	s := serve(t, "-X", "server.http.max-connections=16")
	s.push(map[string]string{"main.dig": "+a:\n  wait>: 300s\n"})
	running := s.start("main", "2024-01-01T00:00:00Z")
	streams := func(n int) {
		s.dials(n, func(_ int, c net.Conn) {
			_, _ = io.WriteString(c, "GET /api/attempts/"+running+"/events HTTP/1.1\r\nHost: "+s.Addr+"\r\n\r\n")
		})
	}
	streams(40) // some of them end: they were idle the longest when others arrived
	if a := s.call(http.MethodGet, "/api/health", nil); a.Status != http.StatusOK {
		t.Errorf("health: %d %s", a.Status, a.Body)
	}
	var a answer
	until(t, "the server has as many requests as it may", func() bool {
		streams(1)
		a = s.call(http.MethodGet, "/api/projects", nil)
		return a.Status == http.StatusServiceUnavailable
	})
	if a := s.call(http.MethodGet, "/api/health", nil); a.Status != http.StatusOK {
		t.Errorf("health beside them: %d %s", a.Status, a.Body)
	}
	if a.Header.Get("Retry-After") == "" || !strings.Contains(fmt.Sprint(a.object(t)["message"]), "max-connections") {
		t.Errorf("another request: %d %s", a.Status, a.Body)
	}
}
