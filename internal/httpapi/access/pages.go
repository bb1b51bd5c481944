package access

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"zerodag/internal/httpapi/wire"
)

// A browser sends any request that a page demands, from behind any firewall and with its user's credentials. The rules
// here let pages call this API only if this server served them (docs/adr/0017-listeners-without-login.md):
//
//   - named: without a login, the server must be called by one of its names.
//   - ownPage: a page of another origin is refused, everywhere.
//   - deliberate: requests that a page can send without a preflight change nothing.

// Named refuses foreign names if there is no login: if a page's host name is made to resolve to this server, the
// browser considers the page same-origin (DNS rebinding).
func (g *Gate) Named(r *http.Request) error {
	if g.Bound == "" || !g.Auth.Open() || g.isOurs(r.Host) {
		return nil
	}
	return Refuse(http.StatusForbidden, "This server requires no login, so it only answers requests to its address or to localhost: use one of these, add the host to server.http.hosts, or require a login (server.authenticator.type)")
}

// isOurs reports whether a request with that Host is meant for this server. The port does not matter: tunnels and
// containers map ports, and no page can choose the port of the Host. An address is not a name, so a listener that is
// not on a loopback address accepts any address.
func (g *Gate) isOurs(hostport string) bool {
	name := hostOf(hostport)
	same := func(listed string) bool { return strings.EqualFold(listed, name) }
	address, err := netip.ParseAddr(name)
	switch {
	case name == "":
		return false
	case same("localhost"), same(g.Bound), slices.ContainsFunc(g.Hosts, same):
		return true
	case err != nil:
		return false
	}
	bound, err := netip.ParseAddr(g.Bound)
	return address.IsLoopback() || err == nil && !bound.IsLoopback()
}

// hostOf returns the name or address in a Host header.
func hostOf(hostport string) string {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = hostport
		if inner, bracket := strings.CutPrefix(name, "["); bracket && strings.HasSuffix(inner, "]") {
			name = strings.TrimSuffix(inner, "]")
		}
	}
	return strings.TrimSuffix(name, ".")
}

// OwnPage refuses requests that a browser sends for a page of another origin, unless the configuration lets such pages
// call.
func (g *Gate) OwnPage(r *http.Request) error {
	if g.AnyOrigin || !g.foreign(r) {
		return nil
	}
	if r.URL.Path == CallbackPath && reads(r.Method) {
		return nil // an identity provider sends browsers there; package signin checks these requests
	}
	return Refuse(http.StatusForbidden, "Pages of other origins must not call this API: call it without a browser or from a page of this server, or allow other origins with server.enable-swagger")
}

// foreign reports whether a browser sent a request for a page that this server did not serve. A page cannot change
// either header; programs send neither.
func (g *Gate) foreign(r *http.Request) bool {
	sites := r.Header.Values("Sec-Fetch-Site")
	for _, site := range sites {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	if len(sites) > 0 && !g.Auth.Open() {
		return false // the browser compared the origins; a proxy may have changed the Host
	}
	return slices.ContainsFunc(r.Header.Values("Origin"), func(origin string) bool { return !g.ownOrigin(origin, r.Host) })
}

// ownOrigin reports whether an Origin matches the Host, or a listed name if callers log in. The scheme does not matter:
// no other site can use our address.
func (g *Gate) ownOrigin(origin, hostport string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false // such as "null"
	}
	standard := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	if strings.EqualFold(strings.TrimSuffix(u.Host, standard), strings.TrimSuffix(hostport, standard)) {
		return true
	}
	return !g.Auth.Open() && slices.ContainsFunc(g.Hosts, func(listed string) bool { return strings.EqualFold(listed, u.Hostname()) })
}

// Deliberate refuses changes that a page can make its browser send without a preflight: a POST without a content type
// or with the content type of a form. A credential that the page must add needs a preflight, as does the header that
// goes with a session; a password that the browser has stored does not. method and consumes come from the endpoint.
func (c *Caller) Deliberate(method, consumes string) error {
	if c.Actor.By == ByToken || c.Actor.By == ByIAM || c.Actor.session != nil || method == http.MethodGet || preflighted(c.R) {
		return nil
	}
	bare := c.R.ContentLength == 0 || consumes == ""
	switch {
	case c.R.Method != http.MethodPost && (bare || consumes != wire.JSONType):
		return nil // a browser sends a preflight before such a request
	case bare && !(c.Actor.By == ByNothing && c.gate.Bound != "") && !c.gate.foreign(c.R):
		return nil
	}
	return Refuse(http.StatusUnsupportedMediaType, "This request needs the header Content-Type: application/json, even without a body, because any web page can send requests without it")
}

// preflighted reports whether the content type is one of ours, for which a browser sends a preflight.
func preflighted(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	media, _, err := mime.ParseMediaType(types[0])
	return err == nil && (media == wire.JSONType || media == wire.GzipType)
}

// Protect sets headers that keep a browser from interpreting a response as anything else. Values set by the
// configuration or an endpoint take precedence.
func Protect(h http.Header, api bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if api {
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	}
}
