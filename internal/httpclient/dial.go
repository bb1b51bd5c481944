package httpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"

	"zerodag/operators"
)

// dialer opens the connection for a request, directly or through a proxy.
type dialer struct {
	network  operators.Network
	proxy    func(*http.Request) (*url.URL, error)
	insecure bool
}

// handshakeTime limits the TLS handshake.
const handshakeTime = 10 * time.Second

// connect opens a connection for a request. by is the proxy that receives the request itself; nil if the server
// receives it.
func (d *dialer) connect(r *http.Request) (conn net.Conn, by *url.URL, err error) {
	ctx, to := r.Context(), address(r.URL)
	through, err := d.proxy(r)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case through == nil:
		conn, err = d.network.DialContext(ctx, "tcp", to)
	case through.Scheme == "socks5" || through.Scheme == "socks5h":
		conn, err = d.socks(ctx, through, to)
	default:
		if conn, err = d.toProxy(ctx, through); err == nil && r.URL.Scheme == "https" {
			conn, err = tunnel(ctx, conn, through, to)
		} else {
			by = through
		}
	}
	if err == nil && r.URL.Scheme == "https" {
		conn, err = secure(ctx, conn, tlsConfig(r.URL.Hostname(), d.insecure))
	}
	return conn, by, err
}

func (d *dialer) toProxy(ctx context.Context, through *url.URL) (net.Conn, error) {
	if through.Scheme != "http" && through.Scheme != "https" {
		return nil, fmt.Errorf("proxy %s: use http, https or socks5", through.Redacted())
	}
	conn, err := d.network.DialContext(ctx, "tcp", address(through))
	if err == nil && through.Scheme == "https" {
		conn, err = secure(ctx, conn, tlsConfig(through.Hostname(), d.insecure))
	}
	return conn, err
}

// contextDialer adapts the network to the SOCKS library.
type contextDialer struct{ operators.Network }

// Dial implements proxy.Dialer.
func (d contextDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d *dialer) socks(ctx context.Context, through *url.URL, to string) (net.Conn, error) {
	by, err := proxy.FromURL(&url.URL{Scheme: "socks5", User: through.User, Host: address(through)}, contextDialer{d.network})
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", through.Redacted(), err)
	}
	dialer, ok := by.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("the SOCKS library cannot connect with a context")
	}
	return dialer.DialContext(ctx, "tcp", to)
}

// tunnel asks a proxy for a connection to a server. If the proxy refuses, it returns an *operators.ProxyRefusal.
func tunnel(ctx context.Context, conn net.Conn, through *url.URL, to string) (net.Conn, error) {
	stop := endWith(ctx, conn)
	defer stop()
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if authorization := proxyAuthorization(through); authorization != "" {
		r.Header.Set("Proxy-Authorization", authorization)
	}
	err := r.Write(conn)
	if err == nil {
		var answer *http.Response
		// The server sends nothing more until it receives the first TLS byte, so dropping the reader loses nothing.
		if answer, err = http.ReadResponse(bufio.NewReader(conn), r); err == nil && answer.StatusCode/100 != 2 {
			err = &operators.ProxyRefusal{Status: answer.StatusCode}
		}
	}
	if err != nil {
		return nil, errors.Join(cause(ctx, err), conn.Close())
	}
	return conn, nil
}

func proxyAuthorization(through *url.URL) string {
	if through.User == nil {
		return ""
	}
	password, _ := through.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(through.User.Username()+":"+password))
}

func secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	s := tls.Client(conn, config)
	if err := s.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// endWith makes all pending operations on a connection fail when the context ends.
func endWith(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed connection needs no deadline
}

// cause returns the context's error if the end of the context made the operation fail, otherwise err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// address returns the host:port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
