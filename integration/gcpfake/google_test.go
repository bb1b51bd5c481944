package gcpfake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"zerodag/integration/gcpfake"
)

// TestDescription checks that google.json equals Google's description of its APIs. The description is fetched, so the
// test is skipped if packages cannot be fetched.
func TestDescription(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("google.json")
	if err != nil {
		t.Fatal(err)
	}
	now, err := exec.Command("go", "run", "./discovery").Output()
	if err != nil {
		if strings.Contains(os.Getenv("REQUIRE"), "packages") {
			t.Fatal(err)
		}
		t.Skipf("NOT RUN: Google's library cannot be fetched: %v", err)
	}
	if string(now) != string(kept) {
		t.Error("google.json is not what `go run ./integration/gcpfake/discovery` writes")
	}
}

// TestRefuses checks that requests that do not fit Google's description, or have no valid token, are refused: otherwise
// tests against this server would prove nothing.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s := gcpfake.New()
	at := s.Start(t)
	var token struct {
		Value string `json:"access_token"`
	}
	answer, err := http.PostForm(at+"/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {"c1"}, "client_secret": {"s1"}, "refresh_token": {"1//refresh"}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&token); err != nil || token.Value == "" {
		t.Fatalf("no token: %v", err)
	}
	const jobs = "/bigquery/v2/projects/p/jobs"
	for _, c := range []struct {
		method, path, body, token string
		status                    int
		want                      string
	}{
		{"POST", jobs, `{"jobReference":{"projectId":"p","jobId":"j"},"configuration":{"query":{"query":"select 1"}}}`, token.Value, 200, `"jobId":"j"`},
		{"POST", jobs, `{"jobReference":{"projectId":"p","jobId":"j"},"configuration":{"query":{"query":"select 1"}}}`, token.Value, 409, "Already Exists: Job p:US.j"},
		{"POST", jobs, `{"configuration":{"query":{"qwery":"select 1"}}}`, token.Value, 400, `unknown name \"qwery\"`},
		{"POST", jobs, `{"configuration":{"query":{"useLegacySql":"no"}}}`, token.Value, 400, "invalid value at 'job.configuration.query.useLegacySql' (boolean)"},
		{"POST", jobs, `{"configuration":{"load":{"sourceUris":"gs://b/o"}}}`, token.Value, 400, "sourceUris is a list"},
		{"POST", jobs, `[]`, token.Value, 400, "job is an object"},
		{"POST", jobs, `{`, token.Value, 400, "not JSON"},
		{"POST", jobs + "?location=US", `{}`, token.Value, 400, "unknown query parameter"},
		{"GET", jobs + "/j?location=EU", "", token.Value, 404, "Not found: Job p:j"},
		{"GET", jobs + "/j", "", token.Value, 200, `"state":"DONE"`},
		{"GET", jobs + "/j", "x", token.Value, 400, "accepts no content"},
		{"GET", jobs + "/j", "", "ya29.mine", 401, "invalid authentication"},
		{"PUT", jobs + "/j", "", token.Value, 404, "unknown method PUT"},
		{"POST", "/token", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c", "", 400, "Invalid JWT Signature"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.path == "/token" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s %s %s: %d %s, want %d and %s", c.method, c.path, c.body, w.Code, body, c.status, c.want)
		}
	}
}
