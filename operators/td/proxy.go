package td

import (
	"errors"
	"net/http"
	"net/url"

	"zerodag/operators"
)

// http returns the client for a proxy; "" leaves that to the host.
func (w *work) http(proxy string) *http.Client {
	options := operators.HTTPOptions{ProxyURL: proxy, MaxRedirects: mostRedirects, KeepAlive: true}
	client := w.HTTP.Client(options)
	at, err := url.Parse(proxy)
	if err != nil || at.Scheme != "https" {
		return client
	}
	p := &maybePlain{work: w, proxy: at.Host, secret: at.User != nil, by: client.Transport}
	at.Scheme = "http"
	options.ProxyURL = at.String()
	p.plain = w.HTTP.Client(options).Transport
	client.Transport = p
	return client
}

// maybePlain uses TLS with a proxy, and falls back to a plain connection if the proxy does not support TLS: Digdag
// never uses TLS, regardless of proxy.use_ssl. A password is not sent without TLS if TLS was requested.
type maybePlain struct {
	work      *work
	proxy     string
	secret    bool
	by, plain http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p *maybePlain) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.by.RoundTrip(r)
	var handshake *operators.ProxyHandshake
	if err == nil || !errors.As(err, &handshake) {
		return answer, err
	}
	if p.secret {
		return nil, noTLS{p.proxy}
	}
	p.work.log(operators.Warn, "the proxy %s does not speak TLS: proxy.use_ssl is ignored, as in Digdag", p.proxy)
	p.by = p.plain
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return p.by.RoundTrip(again)
}

// CloseIdleConnections implements the method that http.Client calls to close idle connections.
func (p *maybePlain) CloseIdleConnections() {
	for _, by := range []http.RoundTripper{p.by, p.plain} {
		if c, ok := by.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// noTLS is a proxy without TLS, to which no password is sent.
type noTLS struct{ proxy string }

func (e noTLS) Error() string {
	return "the proxy " + e.proxy + " does not speak TLS: remove proxy.use_ssl, and its user and password are sent to it unencrypted"
}

// Lasting reports that retrying the call does not help.
func (noTLS) Lasting() bool { return true }
