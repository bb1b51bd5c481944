package httpapi

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// OIDC lets people sign in at a provider of identities.
type OIDC struct {
	Provider host.Identities
	Name     string  // on the button
	Grants   []Grant // the first one that fits a person counts; who has none does not get in
}

// Where a browser goes to sign in at the provider, and where the provider sends it back to.
const (
	leavePath    = "/api/x/session/oidc"
	CallbackPath = leavePath + "/callback"
)

// The purposes of the cookie of those who are at the provider, or come back from it.
const (
	leavingPurpose = "oidc"
	problemPurpose = "problem"
)

// How long somebody may be at the provider, and how long a problem waits to be told.
const (
	longestAway    = 10 * time.Minute
	longestProblem = time.Minute
)

// leaving is what the browser carries of a person who is at the provider.
type leaving struct {
	host.SignIn
	Return string `json:"r"`
	Begun  int64  `json:"b"` // seconds since 1970
}

// decimal writes a number.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// mostReturn bounds the path that a browser comes back to, in bytes: it has to fit into a cookie.
const mostReturn = 1500

// localPath returns a path of this server, whatever a browser makes of it, or "/": it must not be led elsewhere, nor
// to what changes something.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > mostReturn || !strings.HasPrefix(text, "/") || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return "/"
	}
	if clean := path.Clean(u.Path); clean != "/"+strings.Trim(u.Path, "/") || strings.HasPrefix(clean+"/", "/api/") || strings.HasPrefix(u.Path, "//") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\x7f' || r == '\\' }) {
		return "/"
	}
	return u.String()
}

// goTo leads the browser to an address.
func (c *call) goTo(address string) (any, error) {
	c.w.Header().Set("Location", address)
	c.w.WriteHeader(http.StatusFound)
	return written{}, nil
}

func (c *call) provider() (*OIDC, error) {
	if c.Auth.OIDC == nil || c.Auth.Seal == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server knows no provider of identities"}
	}
	return c.Auth.OIDC, nil
}

// getOIDC sends the browser to the provider.
func getOIDC(c *call) (any, error) {
	o, err := c.provider()
	if err != nil {
		return nil, err
	}
	l := leaving{SignIn: host.SignIn{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}, Return: localPath(c.text("return")), Begun: c.Now().Unix()}
	address, err := o.Provider.Begin(c.ctx(), l.SignIn)
	if err != nil {
		return c.cameBack(l.Return, err)
	}
	text, err := c.Auth.Seal.Seal(c.ctx(), leavingPurpose, l)
	if err != nil {
		return nil, err
	}
	c.setCookie(landingCookie, text, longestAway, false)
	return c.goTo(address)
}

// getCallback takes the browser back from the provider and signs the person in.
func getCallback(c *call) (any, error) {
	o, err := c.provider()
	if err != nil {
		return nil, err
	}
	var l leaving
	found, err := c.opened(landingCookie, leavingPurpose, &l)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	over := time.Unix(l.Begun, 0).Add(longestAway)
	if !found || !now.Before(over) || same(l.State, c.text("state")) != 1 || !c.Auth.Seal.Spend("oidc "+l.State, now, over) {
		return c.cameBack("/", &refusal{http.StatusForbidden, "That sign-in was not begun in this browser, or it took too long: sign in again"})
	}
	if why := c.text("error"); why != "" {
		return c.cameBack(l.Return, &refusal{http.StatusForbidden, o.Name + " did not let you in: " + wire.Beginning(why+" "+c.text("error_description"))})
	}
	p, err := o.Provider.Finish(c.ctx(), l.SignIn, c.text("code"))
	if err != nil {
		return c.cameBack(l.Return, err)
	}
	g, granted := grantOf(o.Grants, p)
	if !granted {
		c.Logger.Warn("login failed", "remote", c.remote(), "user", p.Name, "with", "a provider of identities", "reason", "no grant fits")
		return c.cameBack(l.Return, &refusal{http.StatusForbidden, o.Name + " knows you as " + wire.Beginning(p.Name) + ", whom nobody has let into this server: ask its administrator"})
	}
	c.actor = Actor{Name: p.Name, By: ByOIDC, Site: g.Site, Role: g.Role, Info: param.New("oidc", p.Name)}
	c.setCookie(landingCookie, "", 0, false)
	if err := c.begin(g.Who); err != nil {
		return nil, err
	}
	return c.goTo(l.Return)
}

// cameBack leads a browser back without a session, and has the page tell why.
func (c *call) cameBack(to string, why error) (any, error) {
	var user *host.Error
	var refused *refusal
	text := "The provider of identities cannot be reached now: try again"
	switch {
	case errors.As(why, &user):
		text = user.Message
	case errors.As(why, &refused):
		text = refused.message
	case !errors.Is(why, host.ErrUnavailable):
		return nil, why
	}
	if !errors.As(why, &refused) {
		c.Logger.Warn("sign-in at the provider of identities failed", "error", why)
	}
	sealed, err := c.Auth.Seal.Seal(c.ctx(), problemPurpose, text)
	if err != nil {
		return nil, err
	}
	c.setCookie(landingCookie, sealed, longestProblem, false)
	return c.goTo(to)
}

// problem takes what a sign-in at the provider failed of from the browser; "" for nothing.
func (c *call) problem() (text string, err error) {
	if found, err := c.opened(landingCookie, problemPurpose, &text); err != nil || !found {
		return "", err
	}
	c.setCookie(landingCookie, "", 0, false)
	return text, nil
}
