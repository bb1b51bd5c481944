package stack

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"zerodag/internal/iam"
)

// FreshSite picks an unused site, so that tests of one stack do not see each other's data.
func FreshSite() int64 { return 1000 + rand.Int64N(1<<30)*1000 }

// SiteToken makes a token of a site with a role. It signs the request because only principals of the account may manage
// sites other than their own.
func (s *Stack) SiteToken(t testing.TB, site int64, role string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": role, "role": role, "site": site})
	if err != nil {
		t.Fatal(err)
	}
	status, answer := s.Signed(t, http.MethodPost, "/api/tokens", body)
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Token == "" {
		t.Fatalf("create a token of site %d: %d %s", site, status, answer)
	}
	return made.Token
}

// Signed sends a request with the signature of the AWS credentials of the environment.
func (s *Stack) Signed(t testing.TB, method, path string, body []byte) (status int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/iam"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if err := iam.New(t.Context()).Sign(r); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}
