// Package httpclient makes the HTTP clients that `http>` and `http_call>` use.
//
// Hosts hand it to operators as operators.HTTPClient. It speaks HTTP/1.1 itself, as net/http
// writes headers sorted, and a task's are sent in the order and the letters of the task. It
// must never decide about retries, statuses or secrets: operators do.
package httpclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"zerodag/operators"
)

// Clients makes clients. The zero value is ready.
type Clients struct {
	// Network opens the connections; nil is that of the machine.
	Network operators.Network
}

// Client returns a client for the options, with a connection for each request. A proxy URL
// that cannot be read makes every request fail with that error.
func (c *Clients) Client(o operators.HTTPOptions) *http.Client {
	d := dialer{network: c.Network, proxy: http.ProxyFromEnvironment, insecure: o.Insecure}
	if d.network == nil {
		d.network = &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	}
	if o.ProxyURL != "" {
		d.proxy = fixedProxy(o.ProxyURL)
	}
	return &http.Client{
		Transport: &transport{dialer: d, names: o.Headers},
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

// forgetReferer takes the address that redirected out of the next request, as it may hold a
// secret; what the first request said itself stays.
func forgetReferer(next, first *http.Request) {
	next.Header.Del("Referer")
	if own := first.Header.Values("Referer"); len(own) > 0 {
		next.Header["Referer"] = own
	}
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
