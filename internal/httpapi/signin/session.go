package signin

import (
	"errors"
	"net/http"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// defaultZone is the time zone if none is configured.
const defaultZone = "UTC"

// signIns lists the ways to sign in; none if no login is required.
func signIns(a access.Auth) []string {
	list := []string{}
	if a.Open() || a.Seal == nil {
		return list
	}
	if a.Tokens != nil {
		list = append(list, "token")
	}
	if len(a.Users) > 0 {
		list = append(list, "basic")
	}
	if a.OIDC != nil {
		list = append(list, "oidc")
	}
	return list
}

// getSignIn responds to any caller, signed in or not.
func getSignIn(c *endpoint.Call) (any, error) {
	if err := c.Authenticate(); err != nil && (c.R.Header.Get("Authorization") != "" || !isRefused(err)) {
		return nil, err
	}
	problem, err := takeProblem(c)
	if err != nil {
		return nil, err
	}
	s := describe(c)
	s.Problem = wire.TextOrNull(problem)
	return s, nil
}

func isRefused(err error) bool {
	var refused *access.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusUnauthorized
}

// describe describes the caller.
func describe(c *endpoint.Call) wire.SignIn {
	s := wire.SignIn{Methods: signIns(c.Auth), Timezone: defaultZone, Live: "stream", AWS: c.Redrive != nil, Version: c.Version}
	if c.Limits.Stream > 0 {
		s.Live = "poll"
	}
	if c.Auth.OIDC != nil && c.Auth.Seal != nil {
		s.OIDC = &wire.OIDC{Name: c.Auth.OIDC.Name, URL: access.LeavePath}
	}
	if role := c.Actor.Role; role > 0 {
		s.Authenticated, s.User, s.Role = true, wire.TextOrNull(c.Actor.Name), new(role.String())
		s.Rights = wire.Rights{Read: role >= access.Viewer, Write: role >= access.Operator, Push: role >= access.Developer, Admin: role >= access.Admin, Owner: role >= access.Owner}
		if c.Actor.Site != 0 {
			s.Site = new(decimal(c.Actor.Site))
		}
	}
	return s
}

// mostSignIn is the maximum size of the credentials in a sign-in request.
const mostSignIn = 16 << 10

// signIn signs a browser in.
func signIn(c *endpoint.Call) (any, error) {
	if err := c.OnPurpose(); err != nil {
		return nil, err
	}
	methods := signIns(c.Auth)
	if len(methods) == 0 {
		return nil, &host.Error{Code: host.Missing, Message: "This server does not require a sign-in"}
	}
	if err := c.KeepsCookies(); err != nil {
		return nil, err
	}
	var b wire.SignInBody
	c.MostBody = mostSignIn
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	var err error
	switch {
	case b.Token != "" && b.User+b.Password != "":
		err = wire.Invalid("Sign in with a token, or with a user and password, but not both")
	case b.Token != "" && c.Auth.Tokens != nil:
		err = c.ByToken(b.Token)
	case b.User != "" && len(c.Auth.Users) > 0:
		err = c.ByPassword(b.User, b.Password)
	case b.Token != "" || b.User != "":
		err = wire.Invalid("This server does not support that sign-in method")
	default:
		err = wire.NotSet("token, or user and password")
	}
	if err != nil {
		return nil, err
	}
	if err := c.Begin(""); err != nil {
		return nil, err
	}
	return describe(c), nil
}

// signOut signs a browser out.
func signOut(c *endpoint.Call) (any, error) {
	if err := c.OnPurpose(); err != nil {
		return nil, err
	}
	if err := c.SignOut(); err != nil {
		return nil, err
	}
	c.W.WriteHeader(http.StatusNoContent)
	return endpoint.Written{}, nil
}
