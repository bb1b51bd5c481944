// Command serve runs just the fake Treasure Data API, for workflows run by hand: it prints its address,
// and then each request.
//
// It listens only on the local machine and must never be given a real key.
package main

import (
	"flag"
	"fmt"

	"zerodag/integration/fake"
	"zerodag/integration/tdfake"
)

func main() {
	alone := fake.Flags("429, 500, 503, cut, lost, slow, half, nonsense, hugeheader")
	flag.Parse()
	alone.Serve(tdfake.New().Server, func(at string) (string, error) {
		return fmt.Sprintf("the fake of Treasure Data is listening at %s: use the secrets td.endpoint=%s td.use_ssl=false td.apikey=%s", at, at, tdfake.Key), nil
	})
}
