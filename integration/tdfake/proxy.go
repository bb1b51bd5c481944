package tdfake

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a plain HTTP proxy that opens tunnels, and refuses some of them.
type Proxy struct {
	// Refuse reports whether to refuse the n-th request, from 1; nil means that none is refused.
	Refuse func(n int) bool
	asked  atomic.Int64
	opened atomic.Int64
}

// Start serves on a local port until the test ends; it returns host and port.
func (p *Proxy) Start(t testing.TB) (host, port string) {
	t.Helper()
	at := httptest.NewServer(p)
	t.Cleanup(at.Close)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(at.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// Tunnels returns how many tunnels were requested, and how many of them were opened.
func (p *Proxy) Tunnels() (asked, opened int) { return int(p.asked.Load()), int(p.opened.Load()) }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "tunnels only", http.StatusBadRequest)
		return
	}
	if n := int(p.asked.Add(1)); p.Refuse != nil && p.Refuse(n) {
		http.Error(w, "refused", http.StatusServiceUnavailable)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer to.Close()
	from, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer from.Close()
	p.opened.Add(1)
	io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{to, from}, {from, to}} {
		both.Go(func() {
			io.Copy(way[0], way[1])
			way[0].Close() // so that the other direction also ends
		})
	}
	both.Wait()
}
