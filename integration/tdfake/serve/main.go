// Command serve runs the fake of Treasure Data's API alone, for workflows that are tried by hand:
// it says where it listens, and then each request that comes in.
//
// It listens on this machine only and must never be given a real key.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"zerodag/integration/tdfake"
)

func main() {
	rate := flag.Float64("faults", 0, "how many of all requests fail, from 0 to 1")
	seed := flag.Uint64("seed", 1, "which ones")
	every := flag.String("every", "", "a fault of every request: 429, 500, cut, lost, slow, half, nonsense, hugeheader")
	port := flag.Int("port", 0, "where to listen; 0 is any port")
	flag.Parse()
	if err := serve(*port, tdfake.Faults{Rate: *rate, Seed: *seed, Every: tdfake.Fault(*every)}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(port int, faults tdfake.Faults) error {
	s := tdfake.New()
	s.Fail(faults)
	s.OnRequest(func(n int, r tdfake.Request, answered bool) {
		if !answered {
			fmt.Println(n, r)
		}
	})
	at, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("the fake of Treasure Data listens at %s: use the secrets td.endpoint=%s td.use_ssl=false td.apikey=%s\n", at.Addr(), at.Addr(), tdfake.Key)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(at)
}
