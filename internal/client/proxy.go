package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// proxyFor returns the proxy that the environment names for a scheme, as Digdag does: https also uses `http_proxy`.
// Hosts in `no_proxy` are reached directly.
func proxyFor(scheme string, env func(string) string) (func(*http.Request) (*url.URL, error), error) {
	if env == nil {
		return nil, nil
	}
	names := []string{"http_proxy", "HTTP_PROXY"}
	if scheme == "https" {
		names = append([]string{"https_proxy", "HTTPS_PROXY"}, names...)
	}
	for _, name := range names {
		text := strings.TrimSpace(env(name))
		if text == "" {
			continue
		}
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return nil, fmt.Errorf("environment variable %s is not a proxy URL, such as http://host:port", name)
		}
		without := env("no_proxy") + "," + env("NO_PROXY")
		return func(r *http.Request) (*url.URL, error) {
			if matchesAny(r.URL.Hostname(), without) {
				return nil, nil
			}
			return u, nil
		}, nil
	}
	return nil, nil
}

// matchesAny reports whether a host is in a list like "localhost,.corp", or below a domain in it; "*" matches every
// host.
func matchesAny(host, list string) bool {
	host = strings.ToLower(host)
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		name = strings.TrimSpace(name)
		if name == "*" {
			return true
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "*"), ".")
		if name != "" && (host == name || strings.HasSuffix(host, "."+name)) {
			return true
		}
	}
	return false
}
