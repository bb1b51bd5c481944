package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Authenticate identifies the caller.
func (c *Caller) Authenticate() error {
	if c.gate.Auth.Signed != nil {
		return c.bySignature()
	}
	required := !c.gate.Auth.Open()
	header := c.R.Header.Get("Authorization")
	if header == "" && required {
		if found, err := c.bySession(); err != nil {
			return err
		} else if found {
			return c.OnPurpose()
		}
	}
	scheme, credentials, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && c.gate.Auth.Tokens != nil:
		return c.ByToken(strings.TrimSpace(credentials))
	case !required:
		c.Actor = Actor{By: ByNothing, Role: Owner}
		return nil
	case header == "":
		return Refuse(http.StatusUnauthorized, "Missing Authorization header")
	}
	name, password, ok := c.R.BasicAuth()
	if !ok {
		return c.wrong(c.guesser(""), User{}, "an invalid header")
	}
	return c.ByPassword(name, password)
}

// bySignature takes the signer of the request from its context.
func (c *Caller) bySignature() error {
	arn, ok := c.gate.Auth.Signed(c.R.Context())
	if !ok {
		return unauthorized()
	}
	g := Grant{Right: Right{Role: Owner}}
	if c.gate.Auth.Principals != nil {
		if g, ok = c.gate.Auth.Principals.of(arn); !ok {
			return Refuse(http.StatusForbidden, fmt.Sprintf("Access denied: the grants to principals (iamGrants) do not name %s", arn))
		}
	}
	c.Actor = Actor{Name: arn, By: ByIAM, Site: g.Site, Role: g.Role, Projects: g.Projects, Info: param.New("iam", arn)}
	return nil
}

// ByPassword compares the password with every user's password, so that the time that this takes reveals nothing.
func (c *Caller) ByPassword(name, password string) error {
	found, meant := -1, User{}
	for i, u := range c.gate.Auth.Users {
		right := Same(u.Name, name)
		if right == 1 {
			meant = u
		}
		if right&Same(u.Password, password) == 1 {
			found = i
		}
	}
	who := c.guesser(name)
	if err := c.patient(who); err != nil {
		return err
	}
	if found < 0 {
		return c.wrong(who, meant, "a password")
	}
	c.gate.Memory.guesses.succeeded(who)
	c.Actor = actorOf(c.gate.Auth.Users[found])
	return nil
}

// actorOf returns the actor of a user who entered the right password.
func actorOf(u User) Actor {
	switch {
	case u.Role == 0 && u.Admin:
		u.Role = Owner
	case u.Role == 0:
		u.Role = Admin
	}
	return Actor{Name: u.Name, By: ByPassword, Site: u.Site, Role: u.Role, Projects: u.Projects}
}

// Same compares two strings in constant time; it compares hashes, which also hides the strings' lengths.
func Same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}

// ByToken looks up a token by its hash, so that the time the lookup takes reveals nothing about the token.
func (c *Caller) ByToken(secret string) error {
	found, err := c.bearer(HashOf(secret))
	if err != nil || found {
		return err
	}
	who := c.guesser("")
	if err := c.patient(who); err != nil {
		return err
	}
	return c.wrong(who, User{}, "a token")
}

// bearer sets the actor to the owner of the token with the given hash; found reports whether it exists.
func (c *Caller) bearer(hash []byte) (found bool, err error) {
	if c.gate.Auth.Tokens == nil {
		return false, nil
	}
	t, err := c.gate.Auth.Tokens.ByHash(c.R.Context(), hash)
	if errors.Is(err, host.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	role, err := ParseRole(t.Role)
	if err != nil {
		return false, unauthorized() // a newer version created it
	}
	if err := c.current(t); err != nil {
		return false, err
	}
	c.Actor = Actor{Name: t.Name, By: ByToken, Site: t.Site, Role: role, Projects: t.Projects, Info: param.New("token", t.Name),
		Expires: t.ExpiresAt, TokenID: t.ID, token: hash}
	return true, nil
}

// ExpiresSoon is how long before a token expires the server starts to report its use.
const ExpiresSoon = 14 * 24 * time.Hour

// current refuses a token that has expired, and warns, once a day because programs call often, about a token that will
// expire soon.
func (c *Caller) current(t host.Token) error {
	now := c.gate.Now()
	if t.Expired(now) {
		return Refuse(http.StatusUnauthorized, fmt.Sprintf("The token %q expired at %s: use another one, or create one with `zerodag tokens create`", t.Name, t.ExpiresAt.UTC().Format(time.RFC3339)))
	}
	if !t.ExpiresAt.IsZero() && t.ExpiresAt.Sub(now) < ExpiresSoon && c.gate.Memory.mayWarn(t.ID, now) {
		c.gate.Logger.Warn("a token in use expires soon: create another one with `zerodag tokens create` and change its clients", "token", t.ID, "name", t.Name, "site", t.Site, "expires", t.ExpiresAt.UTC())
	}
	return nil
}

// tokenPrefix lets users and secret scanners recognize a leaked token.
const tokenPrefix = "zdt_"

// NewToken creates a token's secret and its hash. Only the hash is stored; 26 random characters need neither a salt nor
// a slow hash.
func NewToken() (secret string, hash []byte) {
	secret = tokenPrefix + rand.Text()
	return secret, HashOf(secret)
}

// HashOf returns the hash by which a token is stored and found.
func HashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
