// Command serve runs the fake of BigQuery and Cloud Storage alone, for workflows that are tried by
// hand: it says where it listens and writes a credential, and then says each request that comes in.
//
// It listens on this machine only and must never be given a real key.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"zerodag/integration/gcpfake"
)

func main() {
	rate := flag.Float64("faults", 0, "how many of all requests fail, from 0 to 1")
	seed := flag.Uint64("seed", 1, "which ones")
	every := flag.String("every", "", "a fault of every request: 429, 403, 500, 503, cut, lost, half, nonsense")
	port := flag.Int("port", 0, "where to listen; 0 is any port")
	file := flag.String("credential", "gcp-fake-key.json", "where the credential is written to")
	datasets := flag.String("datasets", gcpfake.Project+":my_dataset", "datasets that are there, with commas between")
	objects := flag.String("objects", "", "objects that are there, as BUCKET/NAME, with commas between")
	flag.Parse()
	s := gcpfake.New()
	s.Fail(gcpfake.Faults{Rate: *rate, Seed: *seed, Every: gcpfake.Fault(*every)})
	for name := range strings.SplitSeq(*datasets, ",") {
		s.PutDataset(name, "US")
	}
	for name := range strings.SplitSeq(*objects, ",") {
		if bucket, object, found := strings.Cut(name, "/"); found {
			s.PutObject(bucket, object, "made for a test")
		}
	}
	if err := serve(s, *port, *file); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(s *gcpfake.Server, port int, file string) error {
	s.OnRequest(func(n int, r gcpfake.Request, answered bool) {
		if !answered {
			fmt.Println(n, r)
		}
	})
	at, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	address := "http://" + at.Addr().String()
	if err := os.WriteFile(file, []byte(gcpfake.Credential(address)), 0o600); err != nil {
		return fmt.Errorf("write the credential: %w", err)
	}
	fmt.Printf("the fake of BigQuery and Cloud Storage listens at %s: use the secrets gcp.credential=@%s gcp.bigquery.endpoint=%s gcp.storage.endpoint=%s\n", address, file, address, address)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(at)
}
