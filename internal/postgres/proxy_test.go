package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy sits between a client and the server, and cuts the connection at a client request that the test chooses.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	left  int    // requests until the cut; 0: no cut is requested
	at    string // only requests with this text count
	after bool   // the server executes the request and its response is lost; otherwise the request never arrives
	onCut func()
	shut  bool // no more connections
}

// shutNow refuses connections until open is called.
func (p *proxy) shutNow() { p.set(true) }
func (p *proxy) open()    { p.set(false) }

// switchTo sends new connections to another port from now on.
func (p *proxy) switchTo(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = fmt.Sprintf("127.0.0.1:%d", port)
}

func (p *proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to
}

func (p *proxy) set(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = shut
}

func (p *proxy) isShut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shut
}

// newProxy creates a proxy to a local port; it ends with the test.
func newProxy(t *testing.T, port int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: fmt.Sprintf("127.0.0.1:%d", port), listener: l}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// arm requests a cut at the nth request from now on.
func (p *proxy) arm(n int, after bool, onCut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.at, p.after, p.onCut = n, "", after, onCut
}

// armCommit requests a cut at the next commit.
func (p *proxy) armCommit(after bool, onCut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.at, p.after, p.onCut = 1, "COMMIT", after, onCut
}

// disarm cancels a requested cut. It returns false if the cut has already happened.
func (p *proxy) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := p.left > 0
	p.left = 0
	return open
}

// now reports whether the connection is cut at a request, and how.
func (p *proxy) now(request []byte) (cut, after bool, onCut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || !bytes.Contains(request, []byte(p.at)) {
		return false, false, nil
	}
	p.left--
	return p.left == 0, p.after, p.onCut
}

// message reads one message of the protocol; a client's first message has no kind.
func message(in io.Reader, first bool) (kind byte, whole []byte, err error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, nil, err
	}
	if !first {
		kind = head[0]
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	whole = append(head, make([]byte, size)...)
	_, err = io.ReadFull(in, whole[len(head):])
	return kind, whole, err
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if p.isShut() {
		return
	}
	server, err := net.Dial("tcp", p.target())
	if err != nil {
		return
	}
	defer server.Close()
	swallow := make(chan func(), 1) // the response to the next request is lost
	go func() {
		defer client.Close()
		defer server.Close()
		var lost func()
		for {
			kind, whole, err := message(server, false)
			if err != nil {
				return
			}
			select {
			case lost = <-swallow:
			default:
			}
			if lost == nil {
				if _, err := client.Write(whole); err != nil {
					return
				}
			} else if kind == 'Z' { // it is done
				lost()
				return
			}
		}
	}()
	for first := true; ; first = false {
		kind, whole, err := message(client, first)
		if err != nil {
			return
		}
		if kind == 'S' || kind == 'Q' {
			if cut, after, onCut := p.now(whole); cut && after {
				if onCut == nil {
					onCut = func() {}
				}
				swallow <- onCut
			} else if cut {
				if onCut != nil {
					onCut()
				}
				return
			}
		}
		if _, err := server.Write(whole); err != nil {
			return
		}
	}
}
