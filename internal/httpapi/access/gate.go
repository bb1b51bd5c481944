package access

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/seal"
)

// Auth decides who may call. With neither users nor Required, anyone may, as an Owner of site 0; a bearer token is
// still checked.
type Auth struct {
	Users    []User
	Tokens   host.Users // nil for none
	Audit    host.Audit // nil for none
	Required bool
	// OIDC lets users sign in at an identity provider; nil for none. With it callers must log in.
	OIDC *OIDC
	// Seal seals the cookies of a sign-in; nil: browsers cannot sign in.
	Seal *seal.Box
	// Signed returns the ARN of the principal that has signed a request whose signature was checked before it came
	// here. nil if signatures are not checked; with it nothing else lets a caller in.
	Signed func(context.Context) (arn string, ok bool)
	// Principals are the grants to callers that sign requests; nil makes each of them an Owner in site 0.
	Principals Principals
}

// Open reports whether callers need no login.
func (a Auth) Open() bool {
	return a.Signed == nil && !a.Required && len(a.Users) == 0 && a.OIDC == nil
}

// User is a user who logs in by name and password (HTTP Basic).
type User struct {
	Name, Password string
	Site           int64
	Role           Role // 0 is Admin, or Owner for an Admin: Digdag has no roles
	Admin          bool // may call /api/admin
}

// OIDC lets users sign in at an identity provider.
type OIDC struct {
	Provider host.Identities
	Name     string  // on the button
	Grants   []Grant // the first one that fits a user counts; users without one do not get in
}

// The path where a browser starts signing in at the provider, and the path to which the provider sends it back.
const (
	LeavePath    = "/api/x/session/oidc"
	CallbackPath = LeavePath + "/callback"
)

// Refusal is the answer to a caller who lacks permission.
type Refusal struct {
	Status  int
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal.
func Refuse(status int, message string) error { return &Refusal{status, message} }

func unauthorized() error { return Refuse(http.StatusUnauthorized, "unauthorized") }

// Rules determine who may call, and from which pages.
type Rules struct {
	Auth Auth
	// Memory is shared by all gates of a program; nil: this gate has one.
	Memory *Memory
	// Bound is the address that the server listens on: without a login, requests must name it, localhost, or one of
	// Hosts. "" checks no names.
	Bound string
	Hosts []string
	// AnyOrigin lets pages of every origin call.
	AnyOrigin bool
	Logger    *slog.Logger
	Now       func() time.Time
}

// Gate lets callers in by the rules, and remembers failed logins.
type Gate struct {
	Rules
}

// NewGate makes a gate.
func NewGate(r Rules) *Gate {
	r.Memory = cmp.Or(r.Memory, NewMemory())
	return &Gate{r}
}

// Caller is the sender of one request.
type Caller struct {
	W     http.ResponseWriter
	R     *http.Request
	Actor Actor // once they are known

	gate    *Gate
	checked time.Time // when the token was looked at last
}

// Caller takes a request.
func (g *Gate) Caller(w http.ResponseWriter, r *http.Request) *Caller {
	return &Caller{W: w, R: r, gate: g}
}
