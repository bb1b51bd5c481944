package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/internal/host"
)

// Grant gives a role to users that an identity provider has authenticated.
type Grant struct {
	// Who is an e-mail address, "@" followed by a domain, or "group:" and a group's name.
	Who  string
	Role Role
	Site int64
}

// groupPrefix is the prefix of a Who that names a group.
const groupPrefix = "group:"

// ParseGrants reads grants, separated by commas or line breaks: WHO=ROLE, or WHO=ROLE/SITE for a site other than 0. At
// least one is required: by default no one can sign in.
func ParseGrants(text string) ([]Grant, error) {
	var list []Grant
	for entry := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		g, err := parseGrant(entry)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(x Grant) bool { return x.Who == g.Who }) {
			return nil, fmt.Errorf("%q appears twice", g.Who)
		}
		list = append(list, g)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("it is empty: write WHO=ROLE, where WHO is an email address, @DOMAIN or group:NAME")
	}
	return list, nil
}

func parseGrant(entry string) (Grant, error) {
	cut := strings.LastIndex(entry, "=") // a group's name may contain one
	if cut < 0 {
		return Grant{}, fmt.Errorf("%q is not WHO=ROLE", entry)
	}
	g, err := parseRight(entry, strings.TrimSpace(entry[cut+1:]))
	if err != nil {
		return Grant{}, err
	}
	who := strings.TrimSpace(entry[:cut])
	g.Who = who
	if group, is := strings.CutPrefix(who, groupPrefix); is {
		if group == "" {
			return Grant{}, fmt.Errorf("%q does not name a group", entry)
		}
		return g, nil
	}
	person, domain, at := strings.Cut(who, "@")
	if !at || domain == "" || strings.ContainsAny(person+domain, "@*? \t") {
		return Grant{}, fmt.Errorf("%q: %q is not an email address, @DOMAIN or group:NAME", entry, who)
	}
	g.Who = strings.ToLower(who)
	return g, nil
}

// parseRight parses the ROLE or ROLE/SITE of an entry.
func parseRight(entry, text string) (g Grant, err error) {
	name, site, other := strings.Cut(text, "/")
	if g.Role, err = ParseRole(name); err != nil {
		return g, fmt.Errorf("%q: %w", entry, err)
	}
	if other {
		if g.Site, err = strconv.ParseInt(site, 10, 64); err != nil || g.Site < 0 {
			return g, fmt.Errorf("%q: %q is not a site: write a number", entry, site)
		}
	}
	return g, nil
}

// GrantOf returns the first grant that matches a user.
func GrantOf(list []Grant, p host.Person) (Grant, bool) {
	email := strings.ToLower(p.Email)
	_, domain, at := strings.Cut(email, "@")
	i := slices.IndexFunc(list, func(g Grant) bool {
		if group, is := strings.CutPrefix(g.Who, groupPrefix); is {
			return slices.Contains(p.Groups, group)
		}
		return at && (g.Who == email || g.Who == "@"+domain)
	})
	if i < 0 {
		return Grant{}, false
	}
	return list[i], true
}

// grantTo returns the grant whose Who is exactly who.
func grantTo(list []Grant, who string) (Grant, bool) {
	i := slices.IndexFunc(list, func(g Grant) bool { return g.Who == who })
	if i < 0 {
		return Grant{}, false
	}
	return list[i], true
}
