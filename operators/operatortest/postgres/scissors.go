package postgres

import (
	"fmt"
	"net"
	"testing"
)

// Scissors stand between a task and its server, and cut the connection at a request: before
// it reaches the server, or when the server has answered.
type Scissors struct {
	Server Server        // to be connected to instead
	Done   chan struct{} // closed when they have cut

	port     int // of the server
	at       int // which request, from 1
	answered bool
}

// Cut makes scissors for one connection that cut at its nth request, from 1.
func Cut(t testing.TB, s Server, at int, answered bool) *Scissors {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &Scissors{Server: Server{l.Addr().(*net.TCPAddr).Port}, Done: make(chan struct{}), port: s.Port, at: at, answered: answered}
	t.Cleanup(func() { l.Close() })
	go func() {
		client, err := l.Accept()
		if err == nil {
			x.forward(client)
		}
	}()
	return x
}

// forward knows that a client sends a request at once, and waits for the answer.
func (x *Scissors) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", x.port))
	if err != nil {
		return
	}
	defer server.Close()
	requests, answers := make([]byte, 1<<16), make([]byte, 1<<16)
	for n := 1; ; n++ {
		size, err := client.Read(requests)
		if err != nil {
			return
		}
		if n == x.at && !x.answered {
			close(x.Done)
			return
		}
		if _, err := server.Write(requests[:size]); err != nil {
			return
		}
		if size, err = server.Read(answers); err != nil {
			return
		}
		if n == x.at {
			close(x.Done)
			return
		}
		if _, err := client.Write(answers[:size]); err != nil {
			return
		}
	}
}
