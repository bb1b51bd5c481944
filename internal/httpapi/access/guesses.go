package access

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
)

// guesses makes callers who guess passwords wait longer and longer. It counts failures in this process for each address
// and user: an address that many callers share (such as a proxy's) is slowed down only for the user under attack.
// Tokens cannot be guessed: a valid token is accepted at once, however many wrong ones came before it.
type guesses struct {
	mu    sync.Mutex
	found map[guesser]guess

	minute time.Time // in which failures were last logged
	told   int
}

// guesser identifies who is guessing: user is a hash of the name, whether or not that user exists, or empty for tokens.
// Therefore the delay does not reveal which names exist.
type guesser struct {
	address string
	user    [sha256.Size]byte
}

type guess struct {
	failures int
	last     time.Time
}

// The first failures cause no wait; then the wait doubles up to the maximum. Callers that have not failed for a while
// start over.
const (
	freeFailures   = 10
	longestPenalty = 30 * time.Second
	forgiven       = 10 * time.Minute
	mostGuessers   = 4096
	toldEachMinute = 20
)

func newGuesses() *guesses { return &guesses{found: map[guesser]guess{}} }

// penalty returns how long a caller still has to wait.
func (g *guesses) penalty(who guesser, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.found[who]
	over := f.failures - freeFailures
	if over < 0 || now.Sub(f.last) > forgiven {
		return 0
	}
	wait := longestPenalty
	if over < 5 {
		wait = min(wait, time.Second<<over)
	}
	return f.last.Add(wait).Sub(now)
}

// failed counts a failure. tell means that it should be logged: the first, the tenth, the twentieth, the fortieth and
// so on, and at most a few per minute.
func (g *guesses) failed(who guesser, now time.Time) (failures int, tell bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, known := g.found[who]
	if !known && len(g.found) >= mostGuessers {
		g.forgetOne()
	}
	if now.Sub(f.last) > forgiven {
		f.failures = 0
	}
	f.failures++
	f.last = now
	g.found[who] = f
	if tens := f.failures / freeFailures; f.failures > 1 && (f.failures%freeFailures != 0 || tens&(tens-1) != 0) {
		return f.failures, false
	}
	if minute := now.Truncate(time.Minute); !minute.Equal(g.minute) {
		g.minute, g.told = minute, 0
	}
	g.told++
	return f.failures, g.told <= toldEachMinute
}

// forgetOne makes room: of the guessers with the fewest failures, the oldest is dropped, so that trying many names does
// not make the server forget the one under attack.
func (g *guesses) forgetOne() {
	var least guesser
	var of guess
	for who, f := range g.found {
		if of.failures == 0 || f.failures < of.failures || f.failures == of.failures && f.last.Before(of.last) {
			least, of = who, f
		}
	}
	delete(g.found, least)
}

// succeeded forgets the failures of a caller who logged in.
func (g *guesses) succeeded(who guesser) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.found, who)
}

// Origin describes the request for the audit log.
func (c *Caller) Origin() host.Origin {
	path := c.R.URL.EscapedPath()
	return host.Origin{Address: c.Address(), With: c.Actor.with(), Request: c.R.Method + " " + path[:min(len(path), longestPath)]}
}

// longestPath limits how much of a path the audit log keeps.
const longestPath = 500

// with describes how the caller was identified. It identifies tokens and sessions so that their other requests can be
// found, but not in a way that would allow their use.
func (a *Actor) with() string {
	text := a.By
	switch a.By {
	case ByNothing, "":
		return ""
	case ByToken:
		text = "token " + strconv.FormatInt(a.TokenID, 10)
	}
	if a.session != nil {
		text += ", session " + a.session.ID[:min(len(a.session.ID), 8)]
	}
	return text
}

// Address returns a caller's address. Behind proxies that the server trusts, it is the last one that they name and that
// is not a trusted proxy itself: a caller could have written anything before that.
func (c *Caller) Address() string {
	name, _, err := net.SplitHostPort(c.R.RemoteAddr)
	if err != nil {
		return c.R.RemoteAddr
	}
	hops := strings.Split(strings.Join(c.R.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && c.gate.trusts(name); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		name = hop.Unmap().String()
	}
	return name
}

// trusts reports whether an address is that of a trusted proxy.
func (g *Gate) trusts(name string) bool {
	address, err := netip.ParseAddr(name)
	return err == nil && slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap().WithZone("")) })
}

// Remote returns a caller's address; for IPv6, only the part that identifies a network.
func (c *Caller) Remote() string {
	name := c.Address()
	address, err := netip.ParseAddr(name)
	if err != nil || !address.Is6() || address.Is4In6() {
		return name
	}
	network, err := address.WithZone("").Prefix(64)
	if err != nil {
		return name
	}
	return network.String()
}

// guesser identifies a caller who tries to log in as a user; "" means the bearer of a token.
func (c *Caller) guesser(user string) guesser {
	who := guesser{address: c.Remote()}
	if user != "" {
		who.user = sha256.Sum256([]byte(user))
	}
	return who
}

// wrong responds to a failed login and logs it. user must exist: an unknown name must not be logged, because it may be a
// password that was typed into the wrong field.
func (c *Caller) wrong(who guesser, user User, what string) error {
	failures, tell := c.gate.Memory.guesses.failed(who, c.gate.Now())
	if tell {
		c.gate.Logger.Warn("login failed", "remote", who.address, "user", user.Name, "with", what, "failures", failures)
		c.auditLogin(host.Record{At: c.gate.Now().UTC(), Site: user.Site, Who: user.Name, Action: "log in", Target: "from " + who.address,
			Detail: what + " refused, " + strconv.Itoa(failures) + " times", Refused: true, Origin: c.Origin()})
	}
	return unauthorized()
}

func (c *Caller) auditLogin(r host.Record) {
	if c.gate.Auth.Audit == nil {
		return
	}
	if err := c.gate.Auth.Audit.Record(context.WithoutCancel(c.R.Context()), r); err != nil {
		c.gate.Logger.Error("failed login is not in the audit log", "error", err)
	}
}

// patient refuses a caller who must wait, without checking the credentials.
func (c *Caller) patient(who guesser) error {
	wait := c.gate.Memory.guesses.penalty(who, c.gate.Now())
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(wait/time.Second) + 1)
	c.W.Header().Set("Retry-After", seconds)
	return Refuse(http.StatusTooManyRequests, "Too many failed logins: try again in "+seconds+" s")
}
