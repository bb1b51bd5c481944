// Package httpclient makes the HTTP clients that `http>` and `http_call>` use.
//
// Hosts hand it to operators as operators.HTTPClient. It speaks HTTP/1.1 itself: net/http sorts headers, but a task's
// are sent in the order and the capitalization that the task gives. It must never decide about retries, statuses or
// secrets: operators do.
package httpclient

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/publicsuffix"

	"zerodag/operators"
)

// Clients makes clients. The zero value is ready.
type Clients struct {
	// Network opens the connections; nil is that of the machine.
	Network operators.Network
}

// Client returns a client for the options, with a connection for each request unless it keeps them. A proxy URL
// that cannot be read makes every request fail with that error.
func (c *Clients) Client(o operators.HTTPOptions) *http.Client {
	d := dialer{network: c.Network, proxy: fromEnvironment(os.Getenv), insecure: o.Insecure}
	if d.network == nil {
		d.network = &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	}
	if o.ProxyURL != "" {
		d.proxy = fixedProxy(o.ProxyURL)
	}
	cookies, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		panic(err) // it fails for no options
	}
	return &http.Client{
		Jar:       cookies, // of this client alone: what a redirect sets the next request has, as in Digdag
		Transport: d.transport(o),
		Timeout:   o.Timeout,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case o.MaxRedirects == 0:
				return http.ErrUseLastResponse
			case len(via) > o.MaxRedirects:
				return fmt.Errorf("more than %d redirects", o.MaxRedirects)
			}
			forgetReferer(next, via[0])
			return nil
		},
	}
}

// transport sends requests as the options have it.
func (d dialer) transport(o operators.HTTPOptions) http.RoundTripper {
	if o.KeepAlive {
		return newKeeping(d, o.ProxyURL)
	}
	return &transport{dialer: d, names: o.Headers}
}

// forgetReferer takes the address that redirected out of the next request, as it may hold a
// secret; what the first request said itself stays.
func forgetReferer(next, first *http.Request) {
	next.Header.Del("Referer")
	if own := first.Header.Values("Referer"); len(own) > 0 {
		next.Header["Referer"] = own
	}
}

// fromEnvironment is the proxy that variables name for a request. As in Digdag `http_proxy` also applies to https.
// Hosts of `no_proxy` and those of this machine are reached directly.
func fromEnvironment(env func(string) string) func(*http.Request) (*url.URL, error) {
	plain := cmp.Or(env("http_proxy"), env("HTTP_PROXY"))
	config := httpproxy.Config{HTTPProxy: plain, HTTPSProxy: cmp.Or(env("https_proxy"), env("HTTPS_PROXY"), plain),
		NoProxy: cmp.Or(env("no_proxy"), env("NO_PROXY"))}
	choose := config.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

func fixedProxy(address string) func(*http.Request) (*url.URL, error) {
	proxy, err := url.Parse(address)
	if err == nil && proxy.Host == "" {
		err = errors.New("no host")
	}
	if err != nil {
		err = fmt.Errorf("proxy %q: %w", address, err)
	}
	return func(*http.Request) (*url.URL, error) { return proxy, err }
}

// tlsConfig is for connections to a host: HTTP/1.1 only.
func tlsConfig(host string, insecure bool) *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"}} // #nosec G402 -- the user asked for it by `insecure: true`
}
