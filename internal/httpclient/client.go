// Package httpclient creates the HTTP clients that `http>` and `http_call>` use.
//
// Hosts pass it to operators as operators.HTTPClient. It implements HTTP/1.1 because net/http sorts headers, while a
// task's headers must be sent in the task's order and capitalization. It must never make decisions about retries,
// statuses or secrets: operators do.
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

// Clients creates clients. The zero value is ready to use.
type Clients struct {
	// Network opens the connections; nil means the machine's network.
	Network operators.Network
}

// Client returns a client for the options, with a connection for each request unless it keeps them. An invalid proxy
// URL makes every request fail with that error.
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
		panic(err) // cannot fail without options
	}
	return &http.Client{
		Jar:       cookies, // only for this client: as in Digdag, requests after a redirect send the cookies that it set
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

// transport returns a transport that sends requests according to the options.
func (d dialer) transport(o operators.HTTPOptions) http.RoundTripper {
	if o.KeepAlive {
		return newKeeping(d, o.ProxyURL)
	}
	return &transport{dialer: d, names: o.Headers}
}

// forgetReferer removes the redirecting address from the next request, because it may contain a secret; a Referer in
// the first request stays.
func forgetReferer(next, first *http.Request) {
	next.Header.Del("Referer")
	if own := first.Header.Values("Referer"); len(own) > 0 {
		next.Header["Referer"] = own
	}
}

// fromEnvironment returns a function that finds the proxy for a request in environment variables. As in Digdag,
// `http_proxy` also applies to https. Hosts in `no_proxy` and hosts on this machine are reached directly.
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

// tlsConfig returns the configuration for connections to a host, which support only HTTP/1.1.
func tlsConfig(host string, insecure bool) *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"}} // #nosec G402 -- the user requested it with `insecure: true`
}
