package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/seal"
)

// Role is what a caller may do; each role may all that those below it may.
type Role int

// The roles.
const (
	Viewer   Role = iota + 1 // reads everything but the keys of secrets
	Operator                 // also starts, kills, retries, moves schedules, lists keys of secrets
	Admin                    // also pushes, deletes, sets secrets, manages tokens of the site
	Owner                    // also what crosses sites: backups, metrics, tokens of every site
)

// String returns the name that tokens and settings use.
func (r Role) String() string { return [...]string{"", "viewer", "operator", "admin", "owner"}[r] }

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	for r := Viewer; r <= Owner; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("%q is no role: use viewer, operator, admin or owner", name)
}

// Auth says who may call. With neither users nor Required everybody may, as an Owner of
// site 0; a bearer token is looked at all the same.
type Auth struct {
	Users    []User
	Tokens   host.Users // nil for none
	Audit    host.Audit // nil for none
	Required bool
	// OIDC lets people sign in at a provider of identities; nil for none. With it callers must log in.
	OIDC *OIDC
	// Seal seals what browsers keep of a sign-in; nil: they can keep none.
	Seal *seal.Box
	// Signed returns the ARN of the principal that has signed a request whose signature was checked before it came here. nil where
	// signatures are not checked; with it nothing else lets a caller in.
	Signed func(context.Context) (arn string, ok bool)
	// Principals are the grants to callers that sign requests; nil makes each of them an Owner in site 0.
	Principals Principals
}

// How a caller has shown who it is.
const (
	ByNothing  = "nothing" // no login is needed
	ByPassword = "password"
	ByToken    = "token"
	ByIAM      = "iam"
)

// User is one that logs in by name and password (HTTP Basic).
type User struct {
	Name, Password string
	Site           int64
	Role           Role // 0 is Admin, or Owner for an Admin: the original knows no roles
	Admin          bool // may call /api/admin
}

// Actor is who makes a request.
type Actor struct {
	Name  string // "" for everybody
	By    string // one of ByNothing, ByPassword, ByToken, ByIAM, ByOIDC
	Site  int64
	Role  Role
	Admin bool       // may call /api/admin
	Info  *param.Map // stored with revisions

	token   []byte    // hash of the bearer token; nil for none
	session *signedIn // that their browser has shown; nil for none
}

// refusal is an answer to one who must not do this.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

func unauthorized() error { return &refusal{http.StatusUnauthorized, "unauthorized"} }

// authenticate finds out who calls.
func (c *call) authenticate() error {
	if c.Auth.Signed != nil {
		return c.bySignature()
	}
	required := !c.Auth.open()
	header := c.r.Header.Get("Authorization")
	if header == "" && required {
		if found, err := c.bySession(); err != nil {
			return err
		} else if found {
			return c.onPurpose()
		}
	}
	scheme, credentials, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && c.Auth.Tokens != nil:
		return c.byToken(strings.TrimSpace(credentials))
	case !required:
		c.actor = Actor{By: ByNothing, Role: Owner}
		return nil
	case header == "":
		return &refusal{http.StatusUnauthorized, "Missing Authorization header"}
	}
	name, password, ok := c.r.BasicAuth()
	if !ok {
		return c.wrong(c.guesser(""), User{}, "a header that is none")
	}
	return c.byPassword(name, password)
}

// bySignature takes who has signed the request from what came with it.
func (c *call) bySignature() error {
	arn, ok := c.Auth.Signed(c.ctx())
	if !ok {
		return unauthorized()
	}
	g := Grant{Role: Owner}
	if c.Auth.Principals != nil {
		if g, ok = c.Auth.Principals.of(arn); !ok {
			return &refusal{http.StatusForbidden, fmt.Sprintf("Access denied: the grants to principals (iamGrants) do not name %s", arn)}
		}
	}
	c.actor = Actor{Name: arn, By: ByIAM, Site: g.Site, Role: g.Role, Info: param.New("iam", arn)}
	return nil
}

// byPassword compares with every user, so that the time tells nothing.
func (c *call) byPassword(name, password string) error {
	found, meant := -1, User{}
	for i, u := range c.Auth.Users {
		right := same(u.Name, name)
		if right == 1 {
			meant = u
		}
		if right&same(u.Password, password) == 1 {
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
	c.guesses.succeeded(who)
	c.actor = actorOf(c.Auth.Users[found])
	return nil
}

// actorOf is a user who has shown the password.
func actorOf(u User) Actor {
	switch {
	case u.Role == 0 && u.Admin:
		u.Role = Owner
	case u.Role == 0:
		u.Role = Admin
	}
	return Actor{Name: u.Name, By: ByPassword, Site: u.Site, Role: u.Role, Admin: u.Admin}
}

// same compares in constant time; hashes hide the lengths as well.
func same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}

// byToken looks a token up by its hash: how long that takes tells nothing of the token.
func (c *call) byToken(secret string) error {
	found, err := c.bearer(hashOf(secret))
	if err != nil || found {
		return err
	}
	who := c.guesser("")
	if err := c.patient(who); err != nil {
		return err
	}
	return c.wrong(who, User{}, "a token")
}

// bearer makes the actor of a token, by its hash; found is that there is one.
func (c *call) bearer(hash []byte) (found bool, err error) {
	if c.Auth.Tokens == nil {
		return false, nil
	}
	t, err := c.Auth.Tokens.ByHash(c.ctx(), hash)
	if errors.Is(err, host.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	role, err := ParseRole(t.Role)
	if err != nil {
		return false, unauthorized() // made by a newer version
	}
	c.actor = Actor{Name: t.Name, By: ByToken, Site: t.Site, Role: role, Info: param.New("token", t.Name), token: hash}
	return true, nil
}

// permit checks the role. A missing path was answered before: that is no secret.
func (c *call) permit(rt *route) error {
	if rt.apart && !c.Admin {
		return errUnreadable
	}
	if rt.role == Owner && c.actor.Role < Owner {
		return &refusal{http.StatusForbidden, fmt.Sprintf("Access denied: this is about all sites, so it needs role owner, %s has role %s (a token of that role, or the user of server.authenticator.basic with .admin = true)", c.actor.Name, c.actor.Role)}
	}
	if c.actor.Role < rt.role {
		return &refusal{http.StatusForbidden, fmt.Sprintf("Access denied: this needs role %s, %s has role %s", rt.role, c.actor.Name, c.actor.Role)}
	}
	return nil
}
