package startup

import (
	"os"
	"regexp"
	"testing"
)

// called matches the names of functions that call an AWS operation, as listed in a Go program.
var called = regexp.MustCompile(`service/(\w+)\.\(\*Client\)\.([A-Z]\w+)\x00`)

// most is how many operations of a service may be linked: more than the program calls of any of them, and fewer
// than most services have.
const most = 15

// TestOperations checks that the program links only the AWS operations that it calls, and not all operations of each
// service. A client in a struct that becomes an interface, or a paginator that gets the client itself, would link all
// of them (docs/adr/0021-what-a-function-links.md). The SDK itself does this with S3.
func TestOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]map[string]bool{}
	for _, m := range called.FindAllSubmatch(text, -1) {
		service := string(m[1])
		if linked[service] == nil {
			linked[service] = map[string]bool{}
		}
		linked[service][string(m[2])] = true
	}
	if len(linked) < 15 {
		t.Fatalf("operations of %d services were found", len(linked))
	}
	for service, operations := range linked {
		if service != "s3" && len(operations) > most {
			t.Errorf("%d operations of %s are linked, at most %d expected", len(operations), service, most)
		}
	}
}
