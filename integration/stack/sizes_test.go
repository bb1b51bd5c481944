package stack_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"zerodag/integration/stack"
)

// TestSizesOfRequests checks that requests larger than API Gateway and Lambda can carry are refused with a client error
// before the function is called, and that the largest archive that the API claims to accept is not refused.
func TestSizesOfRequests(t *testing.T) {
	t.Parallel()
	s := stack.Deployed(t)
	ask := func(body int, header string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/api/projects?project=sizes&revision=r", bytes.NewReader(make([]byte, body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token)
		r.Header.Set("Content-Type", "application/gzip")
		r.Header.Set("X-Large", header)
		out, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Body.Close()
		return out.StatusCode
	}
	// It is not an archive, which the function reports: so it was called.
	if got := ask(4<<20, ""); got != http.StatusBadRequest {
		t.Errorf("4 MiB, which the API takes: %d", got)
	}
	for name, body := range map[string]int{"over 6 MB in base64": 6 << 20, "over 10 MB": 10<<20 + 1} {
		if got := ask(body, ""); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := ask(10, strings.Repeat("h", 10240)); got/100 != 4 || got == http.StatusBadRequest {
		t.Errorf("headers over 10,240 bytes: %d", got)
	}
}
