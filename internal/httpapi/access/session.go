package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// How long a sign-in lasts after its last request and in total, and the age at which the browser gets a newer one.
const (
	idleSession    = 2 * time.Hour
	longestSession = 12 * time.Hour
	renewSession   = 10 * time.Minute
)

// sessionPurpose is the purpose that sessions are sealed for.
const sessionPurpose = "session"

// signedIn is the data that the browser of a signed-in user carries: never the credentials, but enough to recognize
// them. Every request checks whether they are still valid.
type signedIn struct {
	ID    string `json:"i"`
	By    string `json:"b"`           // ByToken, ByPassword or ByOIDC
	Token []byte `json:"t,omitempty"` // hash of the token
	User  string `json:"u,omitempty"` // name of the user, possibly at a provider
	Mark  []byte `json:"m,omitempty"` // mark of the user's name and password
	Grant string `json:"g,omitempty"` // Who of the user's grant
	Begun int64  `json:"s"`           // milliseconds since 1970
	Last  int64  `json:"l"`           // approximate time of the last request, in seconds since 1970
}

// latest returns when the session ends regardless of activity.
func (s *signedIn) latest() time.Time { return s.begun().Add(longestSession) }

// ends returns when the session ends if it is not used.
func (s *signedIn) ends() time.Time {
	if idle := time.Unix(s.Last, 0).Add(idleSession); idle.Before(s.latest()) {
		return idle
	}
	return s.latest()
}

// PageHeader marks requests that a page's script made on purpose: forms and links cannot send it, and a script from
// another origin needs a preflight.
const (
	PageHeader = "X-Zerodag-Request"
	fromPage   = "page"
)

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// OnPurpose refuses requests that a page of another origin might have made the browser send with its user's session.
func (c *Caller) OnPurpose() error {
	if reads(c.R.Method) || c.R.Header.Get(PageHeader) == fromPage {
		return nil
	}
	return Refuse(http.StatusForbidden, "A change made with a browser session needs the header "+PageHeader+": "+fromPage)
}

// bySession takes the caller from the browser's session. found is false if there is none.
func (c *Caller) bySession() (found bool, err error) {
	var s signedIn
	if found, err = c.Opened(sessionCookie, sessionPurpose, &s); err != nil || !found {
		return false, err
	}
	now := c.gate.Now()
	if !now.Before(s.ends()) {
		return false, nil
	}
	if over, err := c.signedOut(c.R.Context(), &s, now); err != nil || over {
		return false, err
	}
	if found, err = c.recognize(&s); err != nil || !found {
		return false, err
	}
	c.Actor.session = &s
	if reads(c.R.Method) && now.Sub(time.Unix(s.Last, 0)) >= renewSession {
		s.Last = now.Unix()
		return true, c.keepSession(&s)
	}
	return true, nil
}

// signedOut reports whether the user has signed out since a session began, on whichever server.
func (c *Caller) signedOut(ctx context.Context, s *signedIn, now time.Time) (bool, error) {
	until, err := c.gate.Memory.ended(ctx, c.gate.Auth.Tokens, s.who(), now, Recheck)
	return !s.begun().After(until), err
}

// recognize determines a session's current actor: since it began, a token may have been revoked, a password changed, a
// grant removed, or the role changed.
func (c *Caller) recognize(s *signedIn) (bool, error) {
	switch s.By {
	case ByToken:
		return c.bearer(s.Token)
	case ByPassword:
		for _, u := range c.gate.Auth.Users {
			mark, err := c.markOf(u)
			if err != nil {
				return false, err
			}
			if u.Name == s.User && bytes.Equal(mark, s.Mark) {
				c.Actor = actorOf(u)
				return true, nil
			}
		}
	case ByOIDC:
		if c.gate.Auth.OIDC == nil {
			return false, nil
		}
		if g, granted := grantTo(c.gate.Auth.OIDC.Grants, s.Grant); granted {
			c.Actor = Actor{Name: s.User, By: ByOIDC, Site: g.Site, Role: g.Role, Projects: g.Projects, Info: param.New("oidc", s.User)}
			return true, nil
		}
	}
	return false, nil
}

// markOf returns a mark that changes with the user's password.
func (c *Caller) markOf(u User) ([]byte, error) {
	return c.gate.Auth.Seal.Mark(c.R.Context(), u.Name+"\x00"+u.Password)
}

// Begin signs the actor in: their browser gets a new session. grant is the grant of a user who signed in at a provider.
func (c *Caller) Begin(grant string) error {
	now := c.gate.Now()
	s := &signedIn{ID: rand.Text(), By: c.Actor.By, Token: c.Actor.token, User: c.Actor.Name, Grant: grant, Begun: now.UnixMilli(), Last: now.Unix()}
	if !c.gate.Memory.maySignIn(s.who(), now) {
		c.W.Header().Set("Retry-After", "60")
		return Refuse(http.StatusTooManyRequests, "Too many sign-ins with these credentials: try again in a minute")
	}
	until, err := c.gate.Memory.ended(c.R.Context(), c.gate.Auth.Tokens, s.who(), now, 0)
	if err != nil {
		return err
	}
	if !s.begun().After(until) { // the user signed out in this millisecond, or on a server whose clock is ahead
		s.Begun = until.UnixMilli() + 1
	}
	if s.By == ByPassword {
		for _, u := range c.gate.Auth.Users {
			if u.Name != s.User {
				continue
			}
			if s.Mark, err = c.markOf(u); err != nil {
				return err
			}
		}
	}
	if err := c.keepSession(s); err != nil {
		return err
	}
	c.Actor.session = s
	if more, due := c.gate.Memory.noteSignIn(s.who()+" "+c.Remote(), now); due {
		r := host.Record{At: now.UTC(), Site: c.Actor.Site, Who: c.Actor.Name, Action: "sign in", Target: "from " + c.Remote(), Detail: "with " + methodNames()[s.By], Origin: c.Origin()}
		if more > 0 {
			r.Detail += fmt.Sprintf(", and %d times before since the last entry", more)
		}
		c.auditLogin(r)
	}
	return nil
}

// methodNames maps the ways to log in to their names for users.
func methodNames() map[string]string {
	return map[string]string{ByToken: "a token", ByPassword: "a password", ByOIDC: "an identity provider"}
}

func (c *Caller) keepSession(s *signedIn) error {
	text, err := c.gate.Auth.Seal.Seal(c.R.Context(), sessionPurpose, s)
	if err != nil {
		return err
	}
	c.SetCookie(sessionCookie, text, s.latest().Sub(c.gate.Now()), true)
	return nil
}

// SignOut removes the session from the caller's browser, and ends all sessions of its user that have begun: copies of
// the cookie are no longer accepted, by this server at once and by other servers within Recheck.
func (c *Caller) SignOut() error {
	var s signedIn
	found, err := c.Opened(sessionCookie, sessionPurpose, &s)
	if err != nil {
		return err
	}
	now := c.gate.Now()
	if found && now.Before(s.ends()) {
		until := now.Truncate(time.Millisecond)
		if s.begun().After(until) { // on a server whose clock is ahead
			until = s.begun()
		}
		if c.gate.Auth.Tokens != nil {
			if err := c.gate.Auth.Tokens.EndSessions(c.R.Context(), s.who(), until, now); err != nil {
				return err
			}
		}
		c.gate.Memory.end(s.who(), until, now)
	}
	c.SetCookie(sessionCookie, "", 0, true)
	return nil
}

// StillMay reports whether the token or session that was presented when a long response began is still valid. If that
// cannot be checked now, the next check decides.
func (c *Caller) StillMay(ctx context.Context) bool {
	now := c.gate.Now()
	if k := c.Actor.session; k != nil {
		over, err := c.signedOut(ctx, k, now)
		if !now.Before(k.latest()) || err == nil && over {
			return false
		}
	}
	if c.Actor.By != ByToken || time.Since(c.checked) < Recheck/2 {
		return true
	}
	c.checked = time.Now()
	t, err := c.gate.Auth.Tokens.ByHash(ctx, c.Actor.token)
	if err != nil {
		return !errors.Is(err, host.ErrNotFound)
	}
	return t.Site == c.Actor.Site && t.Role == c.Actor.Role.String() && slices.Equal(t.Projects, c.Actor.Projects) && !t.Expired(now)
}
