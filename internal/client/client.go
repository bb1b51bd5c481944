// Package client calls the REST API of a zerodag or Digdag server.
//
// The command line uses it. It must never print, read files or environment variables other than those that it is given,
// or repeat a request that changes something, unless the server rejected the request before any work began.
package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// APIVersion is the Digdag version whose API this client speaks. The client sends it to servers that refuse outdated
// clients.
const APIVersion = "0.10.5"

// DefaultEndpoint is where a server listens by default.
const DefaultEndpoint = "http://127.0.0.1:" + defaultPort

const defaultPort = "65432"

// Options describe how to reach a server.
type Options struct {
	Endpoint string      // "http[s]://host[:port]" or "host[:port]"; "" means DefaultEndpoint
	Header   http.Header // sent with every request to the server itself; may be nil
	Agent    string      // added to the User-Agent
	// Sign adds authentication to a request to the server itself; the API is then below /iam. May be nil.
	Sign func(r *http.Request) error
	// Access is how errors describe the way in which requests authenticate: "with the token of --token".
	Access   string
	Insecure bool // accept any certificate
	// NoDirect requests files from the server itself instead of using links to its storage, and pushes to the server
	// itself if possible.
	NoDirect bool
	// Env looks up the proxy variables; nil means no proxy.
	Env func(name string) string
	// Progress is called with the number of bytes that an upload or download has transferred; total is -1 if it is not
	// known. May be nil.
	Progress func(done, total int64)
	// Wait waits before a request is repeated; nil waits in real time.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client is a client for one server. It is safe for concurrent use.
type Client struct {
	transport
	slots atomic.Bool // the server has reported that archives may be uploaded to its store
}

// transport sends requests to one server, repeats them if necessary, and reads the responses.
type transport struct {
	Options
	base string // "http://host:port", without a slash at the end
	root string // the prefix of the API's paths: base, or base with the path for signed requests
	http *http.Client
}

// New returns a client; nothing is sent yet.
func New(o Options) (*Client, error) {
	base, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.ResponseHeaderTimeout = 5 * time.Minute                       // checking a large push takes a while
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: o.Insecure} // #nosec G402 -- the user requested it
	if t.Proxy, err = proxyFor(base.Scheme, o.Env); err != nil {
		return nil, err
	}
	root := base.String()
	if o.Sign != nil {
		root += "/iam"
	}
	return &Client{transport: transport{
		Options: o,
		base:    base.String(),
		root:    root,
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // only downloads follow redirects, without our headers
		}},
	}}, nil
}

// URL returns the server's address.
func (c *transport) URL() string { return c.base }

// Close ends idle connections.
func (c *transport) Close() { c.http.CloseIdleConnections() }

// parseEndpoint reads "http[s]://host[:port]" or "host[:port]"; a path is dropped, as in Digdag.
func parseEndpoint(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultEndpoint
	}
	scheme, host, ok := strings.Cut(text, "://")
	if !ok {
		scheme, host = "http", text
	}
	if scheme != "http" && scheme != "https" {
		return nil, fmt.Errorf("Endpoint must start with http:// or https://: %s", text)
	}
	host, _, _ = strings.Cut(host, "/")
	if _, err := strconv.ParseUint(host, 10, 16); err == nil && !ok {
		return nil, fmt.Errorf("endpoint %q is a port without a host: write 127.0.0.1:%s", text, host)
	}
	u, err := url.Parse(scheme + "://" + host)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("endpoint %q is not a server address: it must be http[s]://host[:port] or host[:port]", text)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("endpoint %q: the port must be a number from 1 to 65535", text)
		}
	}
	return u, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
