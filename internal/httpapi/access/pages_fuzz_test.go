package access

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"zerodag/internal/httpapi/wire"
)

// FuzzForeignPage proves that a server without login admits no request that a browser sends for a page of another
// origin, whatever that origin is and whatever names the page uses: the Host must be the server's, the origin must
// match the Host, and a change must be deliberate.
func FuzzForeignPage(f *testing.F) {
	for _, c := range [][4]string{
		{"localhost:1", "http://evil.example", "cross-site", "text/plain"}, {"evil.example:1", "http://evil.example:1", "same-origin", "application/json"},
		{"127.0.0.1:1", "null", "", ""}, {"127.0.0.1:1", "http://127.0.0.1:2", "same-site", "application/json"}, {"127.0.0.1:1", "", "", "application/x-www-form-urlencoded"},
		{"[::1]:1", "http://[::1]:1", "same-origin", "application/json"}, {"localhost.", "http://localhost", "none", "application/json; charset=utf-8"},
		{"127.0.0.1:x@evil", "http://127.0.0.1:x@evil", "", "text/plain; application/json"}, {"localhost:80", "https://localhost:80", "", "application/gzip"},
		{"localhost]", "", "", "application/json"},
	} {
		f.Add(c[0], c[1], c[2], c[3])
	}
	f.Fuzz(func(t *testing.T, host, origin, site, kind string) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = host
		for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site, "Content-Type": kind} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		g := NewGate(Rules{Bound: "127.0.0.1"})
		c := g.Caller(nil, r)
		c.Actor = Actor{By: ByNothing}
		if g.Named(r) != nil || g.OwnPage(r) != nil || c.Deliberate(http.MethodPost, wire.JSONType) != nil {
			return
		}
		if name := strings.ToLower(plainHost(host)); name != "localhost" && !strings.HasPrefix(name, "127.") && !strings.Contains(name, ":") {
			t.Errorf("called as %q", host)
		}
		if site != "" && site != "same-origin" && site != "none" {
			t.Errorf("for a page of %q", site)
		}
		if u, err := url.Parse(origin); origin != "" && (err != nil || !strings.EqualFold(u.Hostname(), (&url.URL{Host: host}).Hostname())) {
			t.Errorf("for a page of %q at %q", origin, host)
		}
		if media, _, _ := strings.Cut(kind, ";"); !strings.EqualFold(strings.TrimSpace(media), wire.JSONType) && !strings.EqualFold(strings.TrimSpace(media), wire.GzipType) {
			t.Errorf("with the type %q, which needs no preflight", kind)
		}
	})
}

// plainHost parses a Host as browsers do.
func plainHost(host string) string {
	return strings.TrimSuffix((&url.URL{Host: host}).Hostname(), ".")
}
