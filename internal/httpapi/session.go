package httpapi

import (
	"errors"
	"net/http"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// defaultZone is the zone of what names none.
const defaultZone = "UTC"

// signIns lists the ways to sign in; none where nobody has to.
func (a *api) signIns() []string {
	list := []string{}
	if a.Auth.open() || a.Auth.Seal == nil {
		return list
	}
	if a.Auth.Tokens != nil {
		list = append(list, "token")
	}
	if len(a.Auth.Users) > 0 {
		list = append(list, "basic")
	}
	if a.Auth.OIDC != nil {
		list = append(list, "oidc")
	}
	return list
}

// getSignIn answers whoever asks; nobody has to be signed in.
func getSignIn(c *call) (any, error) {
	if err := c.authenticate(); err != nil && (c.r.Header.Get("Authorization") != "" || !isRefused(err)) {
		return nil, err
	}
	problem, err := c.problem()
	if err != nil {
		return nil, err
	}
	s := c.session()
	s.Problem = wire.TextOrNull(problem)
	return s, nil
}

func isRefused(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.status == http.StatusUnauthorized
}

// session describes the caller.
func (c *call) session() wire.SignIn {
	s := wire.SignIn{Methods: c.signIns(), Timezone: defaultZone, Live: "stream", AWS: c.Redrive != nil, Version: c.Version}
	if c.Limits.Stream > 0 {
		s.Live = "poll"
	}
	if c.Auth.OIDC != nil && c.Auth.Seal != nil {
		s.OIDC = &wire.OIDC{Name: c.Auth.OIDC.Name, URL: leavePath}
	}
	if role := c.actor.Role; role > 0 {
		s.Authenticated, s.User, s.Role = true, wire.TextOrNull(c.actor.Name), new(role.String())
		s.Rights = wire.Rights{Read: role >= Viewer, Write: role >= Operator, Admin: role >= Admin, Owner: role >= Owner}
		if c.actor.Site != 0 {
			s.Site = new(decimal(c.actor.Site))
		}
	}
	return s
}

// mostSignIn is the size of what somebody signs in with.
const mostSignIn = 16 << 10

// signIn signs a browser in.
func signIn(c *call) (any, error) {
	if err := c.onPurpose(); err != nil {
		return nil, err
	}
	methods := c.signIns()
	if len(methods) == 0 {
		return nil, &host.Error{Code: host.Missing, Message: "Nobody has to sign in here"}
	}
	if err := c.keepsCookies(); err != nil {
		return nil, err
	}
	var b wire.SignInBody
	c.mostBody = mostSignIn
	if err := c.read(&b, false); err != nil {
		return nil, err
	}
	var err error
	switch {
	case b.Token != "" && b.User+b.Password != "":
		err = wire.Invalid("Sign in with a token, or with user and password, not both")
	case b.Token != "" && c.Auth.Tokens != nil:
		err = c.byToken(b.Token)
	case b.User != "" && len(c.Auth.Users) > 0:
		err = c.byPassword(b.User, b.Password)
	case b.Token != "" || b.User != "":
		err = wire.Invalid("This server does not take that way to sign in")
	default:
		err = wire.NotSet("token, or user and password")
	}
	if err != nil {
		return nil, err
	}
	if err := c.begin(""); err != nil {
		return nil, err
	}
	return c.session(), nil
}

// signOut signs a browser out. What it carried opens nothing any more, as far as this process sees to it
// (docs/server.md#signing-in-a-browser).
func signOut(c *call) (any, error) {
	if err := c.onPurpose(); err != nil {
		return nil, err
	}
	var s signedIn
	found, err := c.opened(sessionCookie, sessionPurpose, &s)
	if err != nil {
		return nil, err
	}
	if found {
		c.Auth.Seal.Spend(s.ID, c.Now(), s.latest())
	}
	c.setCookie(sessionCookie, "", 0, true)
	c.w.WriteHeader(http.StatusNoContent)
	return written{}, nil
}
