package access

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// Role determines what a caller may do; each role includes the rights of all lower roles, but the rights of Metrics
// only for the caller's site.
type Role int

// The roles.
const (
	Metrics   Role = iota + 1 // reads metrics of all sites, and nothing else
	Viewer                    // reads everything except the keys of secrets
	Operator                  // also starts, kills, retries, moves schedules, lists keys of secrets
	Developer                 // also pushes and deletes projects
	Admin                     // also sets secrets and pools, manages tokens of the site, reads its audit log
	Owner                     // also acts across sites: backups, all metrics, tokens of every site
)

// String returns the name that tokens and settings use.
func (r Role) String() string {
	return [...]string{"", "metrics", "viewer", "operator", "developer", "admin", "owner"}[r]
}

// Limitable reports whether a caller with the role can be limited to some projects of a site.
func (r Role) Limitable() bool { return r != Metrics && r != Owner }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	for r := Metrics; r <= Owner; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("%q is not a role: use metrics, viewer, operator, developer, admin or owner", name)
}

// The ways in which a caller was identified.
const (
	ByNothing  = "nothing" // no login is needed
	ByPassword = "password"
	ByToken    = "token"
	ByIAM      = "iam"
	ByOIDC     = "oidc" // authenticated by an identity provider
)

// Actor is the caller who made a request.
type Actor struct {
	Name string // "" for a caller without login
	By   string // one of ByNothing, ByPassword, ByToken, ByIAM, ByOIDC
	Site int64
	Role Role
	Info *param.Map // stored with revisions
	// Projects names the only projects in the site that they may use; none means all projects.
	Projects []string
	Expires  time.Time // when the token is no longer accepted; zero for never
	TokenID  int64     // of the token that they presented or signed in with; 0 for none

	token   []byte    // hash of the bearer token; nil for none
	session *signedIn // the session that their browser presented; nil for none
}

// Confined reports whether the caller may use only some projects of the site.
func (a *Actor) Confined() bool { return len(a.Projects) > 0 }

// MayUse reports whether the caller may use a project.
func (a *Actor) MayUse(project string) bool {
	return !a.Confined() || slices.Contains(a.Projects, project)
}

// Bears reports whether the caller presented a token, or signed in with it.
func (a *Actor) Bears(t host.Token) bool { return a.By == ByToken && bytes.Equal(a.token, t.Hash) }
