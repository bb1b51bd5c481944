package httpclient

import (
	"fmt"
	"net/http"
	"testing"
)

// TestProxyOfTheEnvironment checks which environment variable determines the proxy for a request.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		env       map[string]string
		url, want string
	}{
		{nil, "http://a.example/", "<nil>"},
		{map[string]string{"http_proxy": "http://p:1"}, "http://a.example/", "http://p:1"},
		{map[string]string{"HTTP_PROXY": "p:1"}, "https://a.example/", "http://p:1"},
		{map[string]string{"http_proxy": "http://p:1", "https_proxy": "https://q:2"}, "https://a.example/", "https://q:2"},
		{map[string]string{"https_proxy": "http://q:2"}, "http://a.example/", "<nil>"},
		{map[string]string{"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:2"}, "http://a.example/", "http://p:1"},
		{map[string]string{"http_proxy": "http://p:1", "no_proxy": ".example"}, "http://a.example/", "<nil>"},
		{map[string]string{"http_proxy": "http://p:1"}, "http://127.0.0.1/", "<nil>"},
	} {
		r, err := http.NewRequest("GET", x.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := fromEnvironment(func(name string) string { return x.env[name] })(r)
		if got := fmt.Sprint(proxy); got != x.want || err != nil {
			t.Errorf("%v: %s by %s, %v, want %s", x.env, x.url, got, err, x.want)
		}
	}
}
