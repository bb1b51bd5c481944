package signin

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
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// The purposes of cookies for users who are at the provider, or are returning from it.
const (
	leavingPurpose = "oidc"
	problemPurpose = "problem"
)

// How long a user may stay at the provider, and how long a problem is kept until it is shown.
const (
	longestAway    = 10 * time.Minute
	longestProblem = time.Minute
)

// leaving is the cookie of a user who is at the provider.
type leaving struct {
	host.SignIn
	Return string `json:"r"`
	Begun  int64  `json:"b"` // seconds since 1970
}

// decimal formats a number.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// mostReturn is the maximum length in bytes of the path to which a browser returns: it must fit into a cookie.
const mostReturn = 1500

// localPath returns a path on this server, or "/". However a browser interprets it, the path must not lead to another
// server, or to an endpoint that changes something.
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

// goTo redirects the browser to an address.
func goTo(c *endpoint.Call, address string) (any, error) {
	c.W.Header().Set("Location", address)
	c.W.WriteHeader(http.StatusFound)
	return endpoint.Written{}, nil
}

func providerOf(c *endpoint.Call) (*access.OIDC, error) {
	if c.Auth.OIDC == nil || c.Auth.Seal == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server has no identity provider"}
	}
	return c.Auth.OIDC, nil
}

// getOIDC sends the browser to the provider.
func getOIDC(c *endpoint.Call) (any, error) {
	o, err := providerOf(c)
	if err != nil {
		return nil, err
	}
	l := leaving{SignIn: host.SignIn{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}, Return: localPath(c.Text("return")), Begun: c.Now().Unix()}
	address, err := o.Provider.Begin(c.Ctx(), l.SignIn)
	if err != nil {
		return cameBack(c, l.Return, err)
	}
	text, err := c.Auth.Seal.Seal(c.Ctx(), leavingPurpose, l)
	if err != nil {
		return nil, err
	}
	c.SetCookie(access.LandingCookie, text, longestAway, false)
	return goTo(c, address)
}

// getCallback handles a browser that returns from the provider, and signs the user in.
func getCallback(c *endpoint.Call) (any, error) {
	o, err := providerOf(c)
	if err != nil {
		return nil, err
	}
	var l leaving
	found, err := c.Opened(access.LandingCookie, leavingPurpose, &l)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	over := time.Unix(l.Begun, 0).Add(longestAway)
	if !found || !now.Before(over) || access.Same(l.State, c.Text("state")) != 1 || !c.Auth.Seal.Spend("oidc "+l.State, now, over) {
		return cameBack(c, "/", access.Refuse(http.StatusForbidden, "This sign-in was not started in this browser, or it took too long: sign in again"))
	}
	if why := c.Text("error"); why != "" {
		return cameBack(c, l.Return, access.Refuse(http.StatusForbidden, o.Name+" rejected the sign-in: "+wire.Beginning(why+" "+c.Text("error_description"))))
	}
	p, err := o.Provider.Finish(c.Ctx(), l.SignIn, c.Text("code"))
	if err != nil {
		return cameBack(c, l.Return, err)
	}
	g, granted := access.GrantOf(o.Grants, p)
	if !granted {
		c.Logger.Warn("login failed", "remote", c.Remote(), "user", p.Name, "with", "an identity provider", "reason", "no grant fits")
		return cameBack(c, l.Return, access.Refuse(http.StatusForbidden, o.Name+" identified you as "+wire.Beginning(p.Name)+", who has no access to this server: ask its administrator"))
	}
	c.Actor = access.Actor{Name: p.Name, By: access.ByOIDC, Site: g.Site, Role: g.Role, Projects: g.Projects, Info: param.New("oidc", p.Name)}
	c.SetCookie(access.LandingCookie, "", 0, false)
	if err := c.Begin(g.Who); err != nil {
		return nil, err
	}
	return goTo(c, l.Return)
}

// cameBack redirects a browser back without a session, and makes the page show why.
func cameBack(c *endpoint.Call, to string, why error) (any, error) {
	var user *host.Error
	var refused *access.Refusal
	text := "The identity provider cannot be reached now: try again"
	switch {
	case errors.As(why, &user):
		text = user.Message
	case errors.As(why, &refused):
		text = refused.Message
	case !errors.Is(why, host.ErrUnavailable):
		return nil, why
	}
	if !errors.As(why, &refused) {
		c.Logger.Warn("sign-in at the identity provider failed", "error", why)
	}
	sealed, err := c.Auth.Seal.Seal(c.Ctx(), problemPurpose, text)
	if err != nil {
		return nil, err
	}
	c.SetCookie(access.LandingCookie, sealed, longestProblem, false)
	return goTo(c, to)
}

// takeProblem reads and removes the browser's cookie with the reason why a sign-in at the provider failed; "" for none.
func takeProblem(c *endpoint.Call) (text string, err error) {
	if found, err := c.Opened(access.LandingCookie, problemPurpose, &text); err != nil || !found {
		return "", err
	}
	c.SetCookie(access.LandingCookie, "", 0, false)
	return text, nil
}
