package host

import (
	"context"
	"strings"
	"time"
)

// Token lets its bearer use the API with one role in one site. Its text is shown once, when it is created; only its
// hash is stored.
type Token struct {
	ID        int64
	Site      int64
	Name      string // for display; not necessarily unique
	Role      string // "metrics", "viewer", "operator", "developer", "admin" or "owner": what the bearer may do
	Hash      []byte // SHA-256 of the text
	CreatedAt time.Time
	ExpiresAt time.Time // from then on the token is rejected; zero for never
	LastUsed  time.Time // approximately; zero for never
	// Projects names the only projects in the site that the bearer may use; none means all projects.
	Projects []string
}

// Expired reports whether the token is no longer accepted.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// betweenProjects separates project names, which never contain it.
const betweenProjects = "/"

// JoinProjects returns the string in which stores keep a token's projects; "" for none.
func JoinProjects(names []string) string { return strings.Join(names, betweenProjects) }

// SplitProjects returns the names that JoinProjects has joined.
func SplitProjects(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, betweenProjects)
}

// Users stores the tokens, and when users ended their browser sessions.
type Users interface {
	// Create stores a token and returns it with its ID. It returns ErrConflict if a token with that hash exists.
	Create(ctx context.Context, t Token) (Token, error)
	// List lists a site's tokens, ascending by id.
	List(ctx context.Context, site int64) ([]Token, error)
	// Revoke deletes a token. It returns ErrNotFound if there is none.
	Revoke(ctx context.Context, site, id int64) error
	// ByHash finds a token of any site, and records that it was used. It returns ErrNotFound if there is none.
	ByHash(ctx context.Context, hash []byte) (Token, error)
	// EndSessions records the end of all sessions of a user that began no later than a given time. An earlier time does
	// not replace a later one. who is a short string that identifies the user. The record may be forgotten SessionsKept
	// after now.
	EndSessions(ctx context.Context, who string, until, now time.Time) error
	// SessionsEnded returns the time that EndSessions recorded last; zero for none.
	SessionsEnded(ctx context.Context, who string) (time.Time, error)
}

// SessionsKept is the minimum time for which it stays on record that a user's sessions have ended: longer than any
// session lasts.
const SessionsKept = 24 * time.Hour

// Record is a change with its author.
type Record struct {
	ID     int64
	At     time.Time
	Site   int64
	Who    string // name of the user or token; "" if callers do not have to log in
	Action string // "push", "start", "kill" ...
	Target string // the changed object
	Detail string // "" for none; never a secret
	// Refused means that the change was not made because the caller was not allowed to make it.
	Refused bool
	Origin
}

// Origin describes the request that caused a change. Its fields are "" if there was none.
type Origin struct {
	Address string // of the caller, if the server can know it
	With    string // how the caller was identified: "token 3", "token 3, session AB12CD34", "password" ...
	Request string // method and path
}

// AuditQuery selects audit log entries of a site.
type AuditQuery struct {
	Site    int64
	Who     string    // exact; "" is any
	Action  string    // exact; "" is any
	Target  string    // part of the target, case-sensitive; "" is any
	From    time.Time // not earlier; zero is any
	Until   time.Time // earlier; zero is any
	Refused bool      // only refused changes
	Before  int64     // only smaller ids; 0 means all
	Count   int       // 0 is all
}

// Matches reports whether an entry of the site is selected, apart from its id.
func (q AuditQuery) Matches(r Record) bool {
	return (q.Who == "" || q.Who == r.Who) && (q.Action == "" || q.Action == r.Action) && strings.Contains(r.Target, q.Target) &&
		(q.From.IsZero() || !r.At.Before(q.From)) && (q.Until.IsZero() || r.At.Before(q.Until)) && (!q.Refused || r.Refused)
}

// Audit stores the audit log.
type Audit interface {
	// Record adds an entry; the store assigns its ID.
	Record(ctx context.Context, e Record) error
	// Audits lists entries, newest first.
	Audits(ctx context.Context, q AuditQuery) ([]Record, error)
}

// Person is a user whom an identity provider has authenticated.
type Person struct {
	Name   string   // for display: an e-mail address, or the provider's substitute
	Email  string   // "" unless the provider has verified it
	Groups []string // as the provider names them
}

// SignIn ties a sign-in to the browser that began it. It holds three random strings: State returns with the browser,
// Nonce returns in the provider's signed response, and Verifier is shown only to the provider.
type SignIn struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// Identities is an identity provider (OpenID Connect).
type Identities interface {
	// Begin returns the address at which a user signs in. It returns ErrUnavailable if the provider does not respond.
	Begin(ctx context.Context, s SignIn) (string, error)
	// Finish accepts the browser's response once and returns the user who signed in. It returns an *Error with code
	// Forbidden if the provider does not confirm the sign-in, and ErrUnavailable if it does not respond.
	Finish(ctx context.Context, s SignIn, code string) (Person, error)
}
