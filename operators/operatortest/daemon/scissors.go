package daemon

import (
	"fmt"
	"net"
	"testing"
)

// Scissors is a proxy between a task and its server that cuts the connection at a request: before it reaches the
// server, or after the server has answered.
type Scissors struct {
	Port int           // to connect to instead
	Done chan struct{} // closed after the cut

	port     int // of the server
	at       int // which request, from 1
	answered bool
	greets   bool
}

// Cut creates Scissors that cut one connection to a port at its nth request, from 1. greets means that the server
// speaks first.
func Cut(t testing.TB, port, at int, answered, greets bool) *Scissors {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &Scissors{Port: l.Addr().(*net.TCPAddr).Port, Done: make(chan struct{}), port: port, at: at, answered: answered, greets: greets}
	t.Cleanup(func() { l.Close() })
	go func() {
		client, err := l.Accept()
		if err == nil {
			x.forward(client)
		}
	}()
	return x
}

// forward relies on clients that send each request in one piece and wait for the response.
func (x *Scissors) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", x.port))
	if err != nil {
		return
	}
	defer server.Close()
	requests, answers := make([]byte, 1<<16), make([]byte, 1<<16)
	if x.greets {
		size, err := server.Read(answers)
		if err != nil {
			return
		}
		if _, err := client.Write(answers[:size]); err != nil {
			return
		}
	}
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
