// Package httpclient makes the HTTP clients that `http>` and `http_call>` use.
//
// Hosts hand it to operators as operators.HTTPClient. It keeps connections between
// runs and must never decide about retries, statuses or secrets: operators do.
package httpclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"zerodag/operators"
)

// Clients keeps one transport per kind of connection. The zero value is ready.
type Clients struct {
	// Network opens the connections; nil is that of the machine.
	Network operators.Network

	mu         sync.Mutex
	transports map[transportKey]*http.Transport
}

type transportKey struct {
	insecure bool
	proxy    string
}

// Client returns a client for the options. A proxy URL that cannot be read makes every
// request fail with that error.
func (c *Clients) Client(o operators.HTTPOptions) *http.Client {
	return &http.Client{
		Transport: c.transport(transportKey{o.Insecure, o.ProxyURL}),
		Timeout:   o.Timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			switch {
			case o.MaxRedirects == 0:
				return http.ErrUseLastResponse
			case len(via) > o.MaxRedirects:
				return fmt.Errorf("more than %d redirects", o.MaxRedirects)
			}
			return nil
		},
	}
}

func (c *Clients) transport(k transportKey) *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[k]; t != nil {
		return t
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: k.insecure} // #nosec G402 -- the user asked for it by `insecure: true`
	if c.Network != nil {
		t.DialContext = c.Network.DialContext
	}
	if k.proxy != "" {
		t.Proxy = fixedProxy(k.proxy)
	}
	if c.transports == nil {
		c.transports = map[transportKey]*http.Transport{}
	}
	c.transports[k] = t
	return t
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
