package server

import (
	"errors"
	"net/http"
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
)

// tokenStore returns the store of tokens; without one the paths do not exist.
func tokenStore(c *endpoint.Call) (host.Users, error) {
	if c.Auth.Tokens == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server does not support tokens"}
	}
	return c.Auth.Tokens, nil
}

// siteOf returns the site whose tokens are managed: the caller's own, unless an owner of the server names another.
func siteOf(c *endpoint.Call, asked *wire.Whole) (int64, error) {
	if asked == nil || int64(*asked) == c.Actor.Site {
		return c.Actor.Site, nil
	}
	if c.Actor.Role < access.Owner {
		return 0, access.Refuse(http.StatusForbidden, "Access denied: only an owner of the server can manage other sites")
	}
	return int64(*asked), nil
}

// siteAsked reads the site parameter.
func siteAsked(c *endpoint.Call) (int64, error) {
	n, err := c.Number("site", c.Actor.Site)
	if err != nil {
		return 0, err
	}
	return siteOf(c, (*wire.Whole)(&n))
}

// noHigher refuses to grant or revoke a role that is higher than the caller's.
func noHigher(c *endpoint.Call, role access.Role) error {
	if role > c.Actor.Role {
		return access.Refuse(http.StatusForbidden, "Access denied: tokens of role "+role.String()+" can only be managed by users with that role")
	}
	return nil
}

func getTokens(c *endpoint.Call) (any, error) {
	store, err := tokenStore(c)
	if err != nil {
		return nil, err
	}
	site, err := siteAsked(c)
	if err != nil {
		return nil, err
	}
	list, err := store.List(c.Ctx(), site)
	if err != nil {
		return nil, err
	}
	return wire.Collection("tokens", list, wire.TokenOf), nil
}

func createToken(c *endpoint.Call) (any, error) {
	store, err := tokenStore(c)
	if err != nil {
		return nil, err
	}
	var b wire.TokenBody
	if err := c.Read(&b, false); err != nil {
		return nil, err
	}
	switch {
	case b.Name == nil || *b.Name == "":
		return nil, wire.NotSet("name")
	case b.Role == nil:
		return nil, wire.NotSet("role")
	}
	if err := catalogue.CheckTokenName(*b.Name); err != nil {
		return nil, err
	}
	role, err := access.ParseRole(*b.Role)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	if err := noHigher(c, role); err != nil {
		return nil, err
	}
	site, err := siteOf(c, b.Site)
	if err != nil {
		return nil, err
	}
	secret, hash := access.NewToken()
	t, err := store.Create(c.Ctx(), host.Token{Site: site, Name: *b.Name, Role: *b.Role, Hash: hash, CreatedAt: c.Now().UTC()})
	if err != nil {
		return nil, err
	}
	c.Target = "token " + strconv.FormatInt(t.ID, 10) + " " + t.Name
	return wire.NewToken{ShownToken: wire.TokenOf(t), Token: secret}, nil
}

func revokeToken(c *endpoint.Call) (any, error) {
	store, err := tokenStore(c)
	if err != nil {
		return nil, err
	}
	n, err := c.ID("id")
	if err != nil {
		return nil, err
	}
	site, err := siteAsked(c)
	if err != nil {
		return nil, err
	}
	list, err := store.List(c.Ctx(), site)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if t.ID == n {
			c.Target = "token " + strconv.FormatInt(n, 10) + " " + t.Name
			if role, err := access.ParseRole(t.Role); err == nil && noHigher(c, role) != nil {
				return nil, noHigher(c, role)
			}
			if err := store.Revoke(c.Ctx(), site, n); err != nil && !errors.Is(err, host.ErrNotFound) {
				return nil, err
			}
			return wire.TokenOf(t), nil
		}
	}
	return nil, wire.Missing("token id=%d", n)
}

// getCaller answers with the caller, and how they authenticated.
func getCaller(c *endpoint.Call) (any, error) {
	return wire.Caller{Name: wire.TextOrNull(c.Actor.Name), By: c.Actor.By, Role: c.Actor.Role.String(), Site: c.Actor.Site}, nil
}
