package redshift

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"zerodag/operators/operatortest/postgres"
)

// proxied returns a server whose address accepts COPY from S3 and UNLOAD: it writes them as rows into the table
// "received", in the transaction in which they arrive. All other statements reach the server unchanged.
func proxied(t *testing.T, s postgres.Server) postgres.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	to := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: s.Port}).String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go pass(client, to)
		}
	}()
	return postgres.Server{Port: l.Addr().(*net.TCPAddr).Port}
}

func pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(client, server)
		client.Close()
	}()
	for kind := 0; ; kind = 1 { // the first message has no kind
		head := make([]byte, kind+4)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[kind:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if kind == 1 && head[0] == 'Q' {
			body = append([]byte(asReceived(string(body[:len(body)-1]))), 0)
			binary.BigEndian.PutUint32(head[1:], uint32(len(body)+4))
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}
