package httpclient_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"zerodag/internal/httpclient"
	"zerodag/operators"
)

func get(c *http.Client, url string) (int, string, error) {
	r, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, string(body), err
}

// TestRedirects proves that redirects are followed as often as allowed, and that the redirect itself is the result if
// none may be followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := len(r.URL.Path); n < 4 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			return
		}
		io.WriteString(w, "there")
	}))
	defer s.Close()
	var clients httpclient.Clients
	if status, body, err := get(clients.Client(operators.HTTPOptions{MaxRedirects: 8}), s.URL+"/"); status != 200 || body != "there" {
		t.Error(status, body, err)
	}
	if status, _, err := get(clients.Client(operators.HTTPOptions{}), s.URL+"/"); status != 302 {
		t.Error(status, err)
	}
	if _, _, err := get(clients.Client(operators.HTTPOptions{MaxRedirects: 2}), s.URL+"/"); err == nil || !strings.Contains(err.Error(), "more than 2 redirects") {
		t.Error(err)
	}
}

// TestCertificates proves that a certificate of an unknown authority is refused unless the task allows it.
func TestCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secure") }))
	defer s.Close()
	var clients httpclient.Clients
	if _, body, err := get(clients.Client(operators.HTTPOptions{Insecure: true}), s.URL); body != "secure" {
		t.Error(err)
	}
	if _, _, err := get(clients.Client(operators.HTTPOptions{}), s.URL); err == nil {
		t.Error("an unknown certificate was accepted")
	}
}

// TestProxy proves that requests go to the task's own proxy, and that an invalid address makes every request fail with
// a reason.
func TestProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "by proxy "+r.URL.String()) }))
	defer proxy.Close()
	var clients httpclient.Clients
	if _, body, err := get(clients.Client(operators.HTTPOptions{ProxyURL: proxy.URL}), "http://example.invalid/x"); body != "by proxy http://example.invalid/x" {
		t.Error(body, err)
	}
	if _, _, err := get(clients.Client(operators.HTTPOptions{ProxyURL: "nonsense"}), "http://example.invalid/x"); err == nil || !strings.Contains(err.Error(), `proxy "nonsense"`) {
		t.Error(err)
	}
}

// TestTimeout proves that a request to a server that never responds ends.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	var clients httpclient.Clients
	if _, _, err := get(clients.Client(operators.HTTPOptions{Timeout: 20 * time.Millisecond}), s.URL); err == nil {
		t.Error("no time-out")
	}
}
