package access

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/seal"
)

// Auth decides who may call. With neither users nor Required, anyone may call as an Owner of site 0; a bearer token is
// still checked.
type Auth struct {
	Users    []User
	Tokens   host.Users // nil for none
	Audit    host.Audit // nil for none
	Required bool
	// OIDC lets users sign in at an identity provider; nil for none. If it is set, callers must log in.
	OIDC *OIDC
	// Seal seals the cookies of a sign-in; nil: browsers cannot sign in.
	Seal *seal.Box
	// Signed returns the ARN of the principal that signed a request whose signature was already checked; nil if signatures
	// are not checked. If it is set, callers can authenticate only by signature.
	Signed func(context.Context) (arn string, ok bool)
	// Principals holds the grants to callers that sign requests; nil makes each of them an Owner in site 0.
	Principals Principals
}

// Open reports whether callers need no login.
func (a Auth) Open() bool {
	return a.Signed == nil && !a.Required && len(a.Users) == 0 && a.OIDC == nil
}

// HasOwner reports whether someone is an owner without a token: the configuration names them, or no login is required.
func (a Auth) HasOwner() bool {
	owns := func(g Grant) bool { return g.Role == Owner }
	return a.Open() || a.Signed != nil || a.OIDC != nil && slices.ContainsFunc(a.OIDC.Grants, owns) ||
		slices.ContainsFunc(a.Users, func(u User) bool { return actorOf(u).Role == Owner })
}

// User is a user who logs in with a name and password (HTTP Basic).
type User struct {
	Name, Password string
	Site           int64
	Role           Role // 0 means Admin, or Owner if Admin is set: Digdag has no roles
	Admin          bool // may call /api/admin
	// Projects names the only projects in the site that the caller may use; none means all projects.
	Projects []string
}

// OIDC lets users sign in at an identity provider.
type OIDC struct {
	Provider host.Identities
	Name     string  // name on the button
	Grants   []Grant // the first one that matches a user applies; users without one are refused
}

// The path where a browser starts signing in at the provider, and the path to which the provider sends it back.
const (
	LeavePath    = "/api/x/session/oidc"
	CallbackPath = LeavePath + "/callback"
)

// Refusal is the response to a caller who lacks permission.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Refuse returns a refusal.
func Refuse(status int, message string) error { return &Refusal{status, message} }

func unauthorized() error { return Refuse(http.StatusUnauthorized, "unauthorized") }

// Rules determines who may call, and from which pages.
type Rules struct {
	Auth Auth
	// Memory is shared by all gates of a program; nil means that this gate has a separate one.
	Memory *Memory
	// Bound is the address that the server listens on: without a login, requests must name it, localhost, or one of Hosts.
	// "" disables that check.
	Bound string
	Hosts []string
	// Proxies are the addresses of proxies whose X-Forwarded-For names the caller.
	Proxies []netip.Prefix
	// AnyOrigin lets pages from any origin call.
	AnyOrigin bool
	Logger    *slog.Logger
	Now       func() time.Time
}

// Gate admits callers according to the rules, and records failed logins.
type Gate struct {
	Rules
}

// NewGate creates a gate.
func NewGate(r Rules) *Gate {
	r.Memory = cmp.Or(r.Memory, NewMemory())
	return &Gate{r}
}

// Caller describes who sent one request.
type Caller struct {
	W     http.ResponseWriter
	R     *http.Request
	Actor Actor // set once the caller is identified

	gate    *Gate
	checked time.Time // when the token was last checked
}

// Caller returns a request's caller.
func (g *Gate) Caller(w http.ResponseWriter, r *http.Request) *Caller {
	return &Caller{W: w, R: r, gate: g}
}
