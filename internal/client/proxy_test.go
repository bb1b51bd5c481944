package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProxy checks which proxy a scheme uses, and which hosts need no proxy.
func TestProxy(t *testing.T) {
	t.Parallel()
	cases := []struct {
		scheme, host, want string
		env                map[string]string
	}{
		{"http", "127.0.0.1", "http://p:1", map[string]string{"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:2"}},
		{"http", "h", "http://q:2", map[string]string{"HTTP_PROXY": "q:2", "https_proxy": "s:3"}},
		{"https", "h", "https://s:3", map[string]string{"HTTPS_PROXY": "https://s:3", "http_proxy": "p:1"}},
		{"https", "h", "http://p:1", map[string]string{"http_proxy": " p:1 "}},
		{"http", "h", "", map[string]string{"https_proxy": "s:3"}},
		{"http", "a.corp", "", map[string]string{"http_proxy": "p:1", "no_proxy": "localhost, .corp"}},
		{"http", "corp", "", map[string]string{"http_proxy": "p:1", "NO_PROXY": "CORP"}},
		{"http", "acorp", "http://p:1", map[string]string{"http_proxy": "p:1", "NO_PROXY": "corp"}},
		{"http", "h", "", map[string]string{"http_proxy": "p:1", "no_proxy": "*"}},
	}
	for i, k := range cases {
		f, err := proxyFor(k.scheme, func(name string) string { return k.env[name] })
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f != nil {
			r := httptest.NewRequest("GET", k.scheme+"://"+k.host+"/", nil)
			if u, err := f(r); err == nil && u != nil {
				got = u.String()
			}
		}
		if got != k.want {
			t.Errorf("case %d: proxy %q, want %q", i, got, k.want)
		}
	}
	if _, err := proxyFor("http", func(string) string { return "::" }); err == nil {
		t.Error("a proxy that is no URL is accepted")
	}
	through := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, `{"version":"through the proxy to %s"}`, r.URL.Host)
	}))
	t.Cleanup(through.Close)
	c := connect(t, Options{Endpoint: "127.0.0.1:1", Env: func(name string) string { return map[string]string{"http_proxy": through.URL}[name] }})
	if v, err := c.Version(t.Context()); err != nil || v != "through the proxy to 127.0.0.1:1" {
		t.Errorf("%s, %v", v, err)
	}
}
