package access

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"zerodag/internal/httpapi/wire"
	"zerodag/internal/seal"
)

// A browser stores two sealed values for a sign-in: who is signed in, and, while a user is at an identity provider, the
// data that ties them to the browser from which they left. Page scripts can read neither.
//
// If the server is called over https, their names begin with __Host-: a browser then accepts them only from this very
// host over https, and no other host of the domain can replace them. Browsers do not separate a host's cookies by port,
// and several servers may run on a user's own machine, so there the port is part of the name.
const (
	sessionCookie = "zerodag_session"
	LandingCookie = "zerodag_oidc"
	hostPrefix    = "__Host-"
)

// onLoopback reports whether a name refers to the caller's machine.
func onLoopback(hostport string) bool {
	name := hostOf(hostport)
	address, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
}

// plainly reports whether the browser calls without TLS, which is allowed only on its own machine. Behind a local proxy
// the Host may be ours although the page is served over https.
func (c *Caller) plainly() bool {
	return c.R.TLS == nil && onLoopback(c.R.Host) && !strings.HasPrefix(c.R.Header.Get("Origin"), "https://")
}

// KeepsCookies refuses a sign-in if the browser would not keep the session: on a page loaded without TLS from another
// machine, where anyone on the network path could read it.
func (c *Caller) KeepsCookies() error {
	origin, err := url.Parse(c.R.Header.Get("Origin"))
	if err == nil && origin.Scheme == "http" && !onLoopback(origin.Host) {
		return wire.Invalid("This page was loaded over unencrypted http from a different machine, so a sign-in could be intercepted: put a proxy with a certificate in front of the server, or use a tunnel and http://localhost")
	}
	return nil
}

// ported returns the name of a cookie on this server. On a loopback address it includes the port, unless that is the
// default port of the scheme.
func (c *Caller) ported(name string) string {
	_, port, err := net.SplitHostPort(c.R.Host)
	if n, wrong := strconv.ParseUint(port, 10, 16); err == nil && wrong == nil && onLoopback(c.R.Host) {
		return name + "_" + strconv.FormatUint(n, 10)
	}
	return name
}

// cookie returns the value of a cookie; "" for none. If the browser sends it twice, it counts as missing, because there
// is no way to tell which one is ours.
func (c *Caller) cookie(name string) string {
	name = c.ported(name)
	for _, full := range []string{hostPrefix + name, name} {
		found := c.R.CookiesNamed(full)
		if len(found) == 1 && (full != name || onLoopback(c.R.Host)) {
			return found[0].Value
		}
		if len(found) > 0 {
			return ""
		}
	}
	return ""
}

// SetCookie sets a cookie in the browser for the given time; "" removes it. With strict, the browser does not send it
// when another site's page leads here.
func (c *Caller) SetCookie(name, value string, lasts time.Duration, strict bool) {
	name = c.ported(name)
	k := &http.Cookie{Name: hostPrefix + name, Value: value, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode} // #nosec G124 -- Secure is removed below, only on the caller's own machine
	if c.plainly() {
		k.Name, k.Secure = name, false
	}
	if strict {
		k.SameSite = http.SameSiteStrictMode
	}
	if value == "" {
		k.MaxAge = -1
	}
	http.SetCookie(c.W, k)
}

// Opened reads a cookie into v, and reports whether it exists and is our own.
func (c *Caller) Opened(name, purpose string, v any) (bool, error) {
	text := c.cookie(name)
	if text == "" || c.gate.Auth.Seal == nil {
		return false, nil
	}
	err := c.gate.Auth.Seal.Open(c.R.Context(), purpose, text, v)
	if errors.Is(err, seal.ErrBroken) {
		return false, nil
	}
	return err == nil, err
}
