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

// A browser keeps two things of a sign-in, both sealed: who is signed in, and, while a person is at a provider of
// identities, what ties them to the browser that they left from. No script of a page can read either.
//
// Where a server is called by https their names begin with __Host-: a browser then takes them from this very host
// alone, over https, and no other host of the domain can put one in their place. Browsers keep cookies of all ports of
// a host together, and on somebody's own machine there may be several servers: there the port is part of the name.
const (
	sessionCookie = "zerodag_session"
	LandingCookie = "zerodag_oidc"
	hostPrefix    = "__Host-"
)

// onLoopback reports whether a name means the machine of the caller.
func onLoopback(hostport string) bool {
	name := hostOf(hostport)
	address, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
}

// plainly reports whether the browser calls without TLS, which it may on its own machine only. Behind a proxy on this
// machine the Host may be ours and the page's https all the same.
func (c *Caller) plainly() bool {
	return onLoopback(c.R.Host) && !strings.HasPrefix(c.R.Header.Get("Origin"), "https://")
}

// KeepsCookies refuses to sign in where the browser would not keep it: on a page that came without TLS from another
// machine, where everybody on the way could read it.
func (c *Caller) KeepsCookies() error {
	origin, err := url.Parse(c.R.Header.Get("Origin"))
	if err == nil && origin.Scheme == "http" && !onLoopback(origin.Host) {
		return wire.Invalid("This page came over http from another machine, where a sign-in can be read on the way: put a proxy with a certificate before the server, or reach it through a tunnel as http://localhost")
	}
	return nil
}

// ported is the name of a cookie as this server has it: with the port on a loopback address, where that is not the
// port of the scheme.
func (c *Caller) ported(name string) string {
	_, port, err := net.SplitHostPort(c.R.Host)
	if n, wrong := strconv.ParseUint(port, 10, 16); err == nil && wrong == nil && onLoopback(c.R.Host) {
		return name + "_" + strconv.FormatUint(n, 10)
	}
	return name
}

// cookie returns the value of a cookie; "" for none. Of one that comes twice nobody knows which is ours: it is none.
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

// SetCookie gives the browser a cookie for a time; "" takes it away. strict keeps it from coming along when a page of
// another site leads here.
func (c *Caller) SetCookie(name, value string, lasts time.Duration, strict bool) {
	name = c.ported(name)
	k := &http.Cookie{Name: hostPrefix + name, Value: value, Path: "/", MaxAge: int(lasts / time.Second), HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode} // #nosec G124 -- Secure is taken away below, on the caller's own machine only
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

// Opened reads a cookie into v, and reports whether it was there and our own.
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
