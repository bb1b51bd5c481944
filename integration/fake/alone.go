package fake

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Alone runs a fake as a program, for workflows that are run by hand: it prints its address, and then each request. It
// listens only on the local machine.
type Alone struct {
	faults Faults
	every  string
	port   int
}

// Flags adds the flags of such a program; kinds lists the faults in their help.
func Flags(kinds string) *Alone {
	a := &Alone{}
	flag.Float64Var(&a.faults.Rate, "faults", 0, "fraction of requests that fail, from 0 to 1")
	flag.Uint64Var(&a.faults.Seed, "seed", 1, "which requests fail")
	flag.StringVar(&a.every, "every", "", "fault of every request: "+kinds)
	flag.IntVar(&a.port, "port", 0, "address to listen on; port 0 selects a free port")
	return a
}

// Serve serves until the program is ended. It calls ready with the address (host and port); ready returns instructions
// for using it.
func (a *Alone) Serve(s *Server, ready func(address string) (string, error)) {
	if err := a.serve(s, ready); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func (a *Alone) serve(s *Server, ready func(address string) (string, error)) error {
	a.faults.Every = Fault(a.every)
	s.Fail(a.faults)
	s.OnRequest(func(n int, r Request, answered bool) {
		if !answered {
			fmt.Println(n, r)
		}
	})
	at, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	text, err := ready(at.Addr().String())
	if err != nil {
		return err
	}
	fmt.Println(text)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(at)
}
