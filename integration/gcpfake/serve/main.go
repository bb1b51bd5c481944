// Command serve runs the fake of BigQuery and Cloud Storage alone, for workflows that are run by hand: it prints its
// address and writes a credential, and then prints each request.
//
// It listens only on the local machine and must never be given a real key.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
)

func main() {
	alone := fake.Flags("429, 403, 500, 503, cut, lost, slow, half, nonsense, hugeheader")
	file := flag.String("credential", "gcp-fake-key.json", "file to which the credential is written")
	datasets := flag.String("datasets", gcpfake.Project+":my_dataset", "existing datasets, separated by commas")
	objects := flag.String("objects", "", "existing objects as BUCKET/NAME, separated by commas")
	flag.Parse()
	s := gcpfake.New()
	for name := range strings.SplitSeq(*datasets, ",") {
		s.PutDataset(name, "US")
	}
	for name := range strings.SplitSeq(*objects, ",") {
		if bucket, object, found := strings.Cut(name, "/"); found {
			s.PutObject(bucket, object, "created for a test")
		}
	}
	alone.Serve(s.Server, func(at string) (string, error) {
		address := "http://" + at
		if err := os.WriteFile(*file, []byte(gcpfake.Credential(address)), 0o600); err != nil {
			return "", fmt.Errorf("write the credential: %w", err)
		}
		return fmt.Sprintf("the fake of BigQuery and Cloud Storage is listening at %s: use the secrets gcp.credential=@%s gcp.bigquery.endpoint=%s gcp.storage.endpoint=%s", address, *file, address, address), nil
	})
}
