package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/wire"
)

// tokenPrefix lets people and scanners of code tell what a leaked text is.
const tokenPrefix = "zdt_"

// NewToken makes the secret of a token and its hash. Only the hash is stored; 26
// characters of random text need no salt and no slow hash.
func NewToken() (secret string, hash []byte) {
	secret = tokenPrefix + rand.Text()
	return secret, hashOf(secret)
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// tokens returns the store of tokens; without one the paths do not exist.
func (c *call) tokens() (host.Users, error) {
	if c.Auth.Tokens == nil {
		return nil, &host.Error{Code: host.Missing, Message: "This server keeps no tokens"}
	}
	return c.Auth.Tokens, nil
}

// siteOf is the site that a token administration is about: the caller's own, but for
// owners of the server.
func (c *call) siteOf(asked *wire.Whole) (int64, error) {
	if asked == nil || int64(*asked) == c.actor.Site {
		return c.actor.Site, nil
	}
	if c.actor.Role < Owner {
		return 0, &refusal{http.StatusForbidden, "Access denied: only an owner of the server manages other sites"}
	}
	return int64(*asked), nil
}

// siteAsked reads the site parameter.
func (c *call) siteAsked() (int64, error) {
	n, err := c.number("site", c.actor.Site)
	if err != nil {
		return 0, err
	}
	return c.siteOf((*wire.Whole)(&n))
}

// below refuses to give or take away more than the caller has.
func (c *call) below(role Role) error {
	if role > c.actor.Role {
		return &refusal{http.StatusForbidden, "Access denied: tokens of role " + role.String() + " are for those who have it"}
	}
	return nil
}

func getTokens(c *call) (any, error) {
	store, err := c.tokens()
	if err != nil {
		return nil, err
	}
	site, err := c.siteAsked()
	if err != nil {
		return nil, err
	}
	list, err := store.List(c.ctx(), site)
	if err != nil {
		return nil, err
	}
	return wire.Collection("tokens", list, wire.TokenOf), nil
}

func createToken(c *call) (any, error) {
	store, err := c.tokens()
	if err != nil {
		return nil, err
	}
	var b wire.TokenBody
	if err := c.read(&b, false); err != nil {
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
	role, err := ParseRole(*b.Role)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	if err := c.below(role); err != nil {
		return nil, err
	}
	site, err := c.siteOf(b.Site)
	if err != nil {
		return nil, err
	}
	secret, hash := NewToken()
	t, err := store.Create(c.ctx(), host.Token{Site: site, Name: *b.Name, Role: *b.Role, Hash: hash, CreatedAt: c.Now().UTC()})
	if err != nil {
		return nil, err
	}
	c.target = "token " + strconv.FormatInt(t.ID, 10) + " " + t.Name
	return wire.NewToken{ShownToken: wire.TokenOf(t), Token: secret}, nil
}

func revokeToken(c *call) (any, error) {
	store, err := c.tokens()
	if err != nil {
		return nil, err
	}
	n, err := c.id("id")
	if err != nil {
		return nil, err
	}
	site, err := c.siteAsked()
	if err != nil {
		return nil, err
	}
	list, err := store.List(c.ctx(), site)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if t.ID == n {
			c.target = "token " + strconv.FormatInt(n, 10) + " " + t.Name
			if role, err := ParseRole(t.Role); err == nil && c.below(role) != nil {
				return nil, c.below(role)
			}
			if err := store.Revoke(c.ctx(), site, n); err != nil && !errors.Is(err, host.ErrNotFound) {
				return nil, err
			}
			return wire.TokenOf(t), nil
		}
	}
	return nil, wire.Missing("token id=%d", n)
}
