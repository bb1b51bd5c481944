package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"zerodag/operators"
)

// keeping sends requests through connections that are reused.
type keeping struct{ *http.Transport }

// Time limits for connections that are kept open.
const (
	keepTime = 30 * time.Second // how long a connection stays open without a request
	// proxyHandshakeTime is short because a proxy without TLS may wait for the end of a line that never comes.
	proxyHandshakeTime = 3 * time.Second
)

func newKeeping(d dialer, proxyURL string) *keeping {
	proxyAddress := ""
	if u, err := url.Parse(proxyURL); err == nil && u.Scheme == "https" {
		proxyAddress = address(u)
	}
	return &keeping{&http.Transport{
		Proxy:                  d.proxy,
		DialContext:            d.network.DialContext,
		TLSClientConfig:        tlsConfig("", d.insecure),
		TLSHandshakeTimeout:    handshakeTime,
		IdleConnTimeout:        keepTime,
		MaxResponseHeaderBytes: mostAnswerHead,
		// TLS to a server directly, or to a proxy.
		DialTLSContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			conn, err := d.network.DialContext(ctx, network, to)
			if err != nil {
				return nil, err
			}
			host, _, err := net.SplitHostPort(to)
			if err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			if to != proxyAddress {
				return secure(ctx, conn, tlsConfig(host, d.insecure))
			}
			return secureProxy(ctx, conn, tlsConfig(host, d.insecure))
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode/100 != 2 {
				return &operators.ProxyRefusal{Status: answer.StatusCode}
			}
			return nil
		},
	}}
}

// secureProxy distinguishes a proxy without TLS from one with a bad certificate.
func secureProxy(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	short, cancel := context.WithTimeout(ctx, proxyHandshakeTime)
	defer cancel()
	safe, err := secure(short, conn, config)
	var certificate *tls.CertificateVerificationError
	if err == nil || ctx.Err() != nil || errors.As(err, &certificate) {
		return safe, err
	}
	return nil, &operators.ProxyHandshake{Err: err}
}

// RoundTrip implements http.RoundTripper.
func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := sound(r); err != nil {
		return nil, err
	}
	answer, err := k.Transport.RoundTrip(r)
	if err != nil && strings.Contains(err.Error(), "server response headers exceeded") { // the library has no type for this error
		return nil, longHead{}
	}
	return answer, err
}
