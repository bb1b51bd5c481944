package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"zerodag/internal/host"
)

// Channel is a receiver of notices.
type Channel struct {
	Name   string
	Type   string // "slack", "mail" ...
	Sender Sender
	// Ordered channels get the notices of a workflow one after the other, because a later notice changes the result of
	// an earlier one: it resolves an incident.
	Ordered bool
}

// Route is a host.NoticeRoute with methods that match notices.
type Route host.NoticeRoute

// Default is the name of the channel and the route for the notification.* settings.
const Default = "notification"

// DefaultRoute returns the route for the notification.* settings: it selects everything that Digdag notifies about.
func DefaultRoute() Route {
	return Route{Name: Default, Channels: []string{Default}, Kinds: []host.NoticeKind{host.NoticeFailure, host.NoticeSLA, host.NoticeSlow, host.NoticeMessage}}
}

// Matches reports whether the route delivers a notice.
func (r Route) Matches(n host.Notice) bool {
	within := func(globs []string, name string) bool {
		return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, name) })
	}
	tagged := func(tag string) bool { return slices.Contains(n.Tags, tag) }
	return (len(r.Sites) == 0 || slices.Contains(r.Sites, n.Attempt.Site)) &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, n.Kind)) &&
		(len(r.Tags) == 0 || slices.ContainsFunc(r.Tags, tagged)) &&
		within(r.Projects, n.Attempt.Project.Name) && within(r.Workflows, n.Attempt.Workflow.Name)
}

// CheckGlob returns an error if a pattern is malformed.
func CheckGlob(glob string) error {
	_, err := path.Match(glob, "")
	return err
}

// matches reports whether a glob matches a name; slashes are ordinary characters.
func matches(glob, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	is, err := path.Match(flat(glob), flat(name))
	return is && err == nil
}

// recovers reports whether the route reports recoveries.
func (r Route) recovers() bool {
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, host.NoticeRecovered)
}

// heals reports whether the workflow's next success ends the trouble.
func heals(k host.NoticeKind) bool { return k == host.NoticeFailure || k == host.NoticeStartFailed }

// group returns the group that a notice belongs to on this route. A route that reports recoveries also needs to remember
// failures when it has no quiet time.
func (r Route) group(n host.Notice, body []byte, now time.Time) host.NoticeGroup {
	a := &n.Attempt
	var until time.Time // a route without a quiet time sends everything, whatever the servers' clocks show
	if r.Quiet > 0 {
		until = now.Add(r.Quiet)
	}
	recovery := n
	recovery.Kind = host.NoticeRecovered
	if n.Kind == host.NoticeRecovered || r.Quiet == 0 && !(heals(n.Kind) && r.Matches(recovery)) {
		return host.NoticeGroup{}
	}
	return host.NoticeGroup{Key: r.Name + "/" + sign(n), Route: r.Name, Site: a.Site, Project: a.Project.Name, Workflow: a.Workflow.Name, Kind: n.Kind,
		Until: until, Body: body}
}

// sign identifies the trouble that a notice is about: notices with equal signs are about the same trouble.
func sign(n host.Notice) string {
	a, task, text := &n.Attempt, n.Task, ""
	switch {
	case n.Failure != nil:
		task, text = n.Failure.Task, n.Failure.Message
	case n.Kind == host.NoticeFailure || n.Kind == host.NoticeMessage:
		text = n.Message
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%q\n%q\n%s\n%q\n%q", a.Site, a.Project.Name, a.Workflow.Name, n.Kind, task, class(text)))
	return hex.EncodeToString(sum[:16])
}

// longestClass is how many bytes of an error are compared.
const longestClass = 200

// class returns an error without its numbers, which differ between errors with the same cause.
func class(text string) string {
	text = numbers().ReplaceAllString(text, "#")
	return text[:min(len(text), longestClass)]
}

var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]+`) })
