package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"zerodag/internal/catalogue/names"
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

// noHigher refuses to grant or revoke a role that is higher than the caller's, or reaches other sites.
func noHigher(c *endpoint.Call, role access.Role) error {
	if role > c.Actor.Role {
		return access.Refuse(http.StatusForbidden, "Access denied: tokens of role "+role.String()+" can only be managed by users with that role")
	}
	if role == access.Metrics && c.Actor.Role < access.Owner {
		return access.Refuse(http.StatusForbidden, "Access denied: tokens of role metrics can only be managed by owners, because they show the work of all sites")
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
	now := c.Now()
	return wire.Collection("tokens", list, func(t host.Token) wire.ShownToken { return wire.TokenOf(t, now) }), nil
}

// mostProjects is the maximum number of projects that a token may name.
const mostProjects = 50

// tokenAsked reads and checks the description of a new token.
func tokenAsked(c *endpoint.Call) (host.Token, error) {
	var b wire.TokenBody
	if err := c.Read(&b, false); err != nil {
		return host.Token{}, err
	}
	switch {
	case b.Name == nil || *b.Name == "":
		return host.Token{}, wire.NotSet("name")
	case b.Role == nil:
		return host.Token{}, wire.NotSet("role")
	}
	if err := names.Token(*b.Name); err != nil {
		return host.Token{}, err
	}
	role, err := access.ParseRole(*b.Role)
	if err != nil {
		return host.Token{}, wire.Invalid("%v", err)
	}
	if err := noHigher(c, role); err != nil {
		return host.Token{}, err
	}
	site, err := siteOf(c, b.Site)
	if err != nil {
		return host.Token{}, err
	}
	t := host.Token{Site: site, Name: *b.Name, Role: *b.Role, CreatedAt: c.Now().UTC()}
	if b.ExpiresAt != nil {
		t.ExpiresAt = b.ExpiresAt.UTC().Truncate(time.Second)
		if t.Expired(t.CreatedAt) {
			return t, wire.Invalid("expiresAt must be in the future, not %s", t.ExpiresAt.Format(time.RFC3339))
		}
	}
	t.Projects, err = projectsAsked(role, b.Projects)
	return t, err
}

// projectsAsked checks the projects that a token may use. They do not have to exist: the token may be used to push a
// project for the first time.
func projectsAsked(role access.Role, projects []string) ([]string, error) {
	if len(projects) > mostProjects {
		return nil, wire.Invalid("A token may name at most %d projects, not %d", mostProjects, len(projects))
	}
	if len(projects) > 0 && !role.Limitable() {
		return nil, wire.Invalid("A token of the role %s acts on all sites and cannot be limited to projects: choose another role", role)
	}
	for _, name := range projects {
		if err := names.Project(name); err != nil {
			return nil, err
		}
	}
	list := slices.Clone(projects)
	slices.Sort(list)
	return slices.Compact(list), nil
}

func createToken(c *endpoint.Call) (any, error) {
	store, err := tokenStore(c)
	if err != nil {
		return nil, err
	}
	t, err := tokenAsked(c)
	if err != nil {
		return nil, err
	}
	secret, hash := access.NewToken()
	t.Hash = hash
	if t, err = store.Create(c.Ctx(), t); err != nil {
		return nil, err
	}
	c.Target = "token " + strconv.FormatInt(t.ID, 10) + " " + t.Name
	warnings, err := tokenWarnings(c, t)
	if err != nil { // the token exists and must be shown
		c.Logger.Warn("a new token was not compared with the projects of its site", "token", t.ID, "error", err)
	}
	return wire.NewToken{ShownToken: wire.TokenOf(t, c.Now()), Token: secret, Warnings: warnings}, nil
}

// tokenWarnings reports what a new token refers to that does not exist: probably a typo.
func tokenWarnings(c *endpoint.Call, t host.Token) ([]string, error) {
	list := []string{}
	sites, err := c.Node.Sites(c.Ctx(), t.Site-1, 1)
	if err != nil {
		return list, err
	}
	if len(sites) == 0 || sites[0].ID != t.Site {
		return append(list, fmt.Sprintf("site %d has no projects yet: the first push with this token creates it", t.Site)), nil
	}
	for _, name := range t.Projects {
		found, err := c.Node.Projects(c.Ctx(), host.ProjectQuery{Site: t.Site, Name: name, Count: 1})
		if err != nil {
			return list, err
		}
		if len(found) == 0 {
			list = append(list, fmt.Sprintf("site %d has no project %q yet", t.Site, name))
		}
	}
	return list, nil
}

// lastOwner refuses to revoke the token that the caller uses if no one would be an owner afterwards. Only the caller's
// token can be the last one: it takes an owner to revoke another owner's token.
func lastOwner(c *endpoint.Call, store host.Users, t host.Token) error {
	if t.Role != access.Owner.String() || t.Expired(c.Now()) || !c.Actor.Bears(t) || c.Auth.HasOwner() {
		return nil
	}
	for _, site := range []int64{0, t.Site} {
		list, err := store.List(c.Ctx(), site)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(x host.Token) bool {
			return x.Role == t.Role && x.ID != t.ID && !x.Expired(c.Now())
		}) {
			return nil
		}
	}
	return host.Conflictf("This is the last token of the role owner: without it, no one could manage the server. First create another one (`zerodag tokens create --name NAME --role owner`), and revoke this one with it")
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
			if err := lastOwner(c, store, t); err != nil {
				return nil, err
			}
			if err := store.Revoke(c.Ctx(), site, n); err != nil && !errors.Is(err, host.ErrNotFound) {
				return nil, err
			}
			return wire.TokenOf(t, c.Now()), nil
		}
	}
	return nil, wire.Missing("token id=%d", n)
}

// getCaller responds with the caller and how they authenticated.
func getCaller(c *endpoint.Call) (any, error) {
	return wire.Caller{Name: wire.TextOrNull(c.Actor.Name), By: c.Actor.By, Role: c.Actor.Role.String(), Site: c.Actor.Site,
		ExpiresAt: wire.Moment(c.Actor.Expires), Projects: c.Actor.Projects}, nil
}
