package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zerodag/internal/catalogue/names"
	"zerodag/internal/host"
)

// Grant gives a role to users that an identity provider has authenticated.
type Grant struct {
	// Who is an e-mail address, "@" followed by a domain, or "group:" and a group's name.
	Who string
	Right
}

// Right describes what a caller may do, and where.
type Right struct {
	Role Role
	Site int64
	// Projects names the only projects in the site that the caller may use; none means all projects.
	Projects []string
}

// groupPrefix is the prefix of a Who that names a group.
const groupPrefix = "group:"

// ParseGrants reads grants, separated by commas or line breaks, of the form WHO=RIGHT, where ParseRight reads RIGHT. At
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
	right, err := ParseRight(strings.TrimSpace(entry[cut+1:]))
	if err != nil {
		return Grant{}, fmt.Errorf("%q: %w", entry, err)
	}
	g := Grant{Right: right}
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

// ParseRight reads ROLE, ROLE/SITE for a site other than 0, or ROLE/SITE/PROJECT/PROJECT for some of its projects: no
// project's name contains a slash.
func ParseRight(text string) (r Right, err error) {
	parts := strings.Split(text, "/")
	if r.Role, err = ParseRole(parts[0]); err != nil {
		return r, err
	}
	if len(parts) == 1 {
		return r, nil
	}
	if r.Site, err = strconv.ParseInt(parts[1], 10, 64); err != nil || strconv.FormatInt(r.Site, 10) != parts[1] || r.Site < 0 {
		return r, fmt.Errorf("%q is not a site: write a number", parts[1])
	}
	if len(parts) == 2 {
		return r, nil
	}
	for _, name := range parts[2:] {
		r.Projects = append(r.Projects, strings.TrimSpace(name))
	}
	if !r.Role.Limitable() {
		return r, fmt.Errorf("the role %s acts on all sites and cannot be limited to projects: choose another role", r.Role)
	}
	if i := slices.IndexFunc(r.Projects, func(name string) bool { return names.Project(name) != nil || strings.ContainsAny(name, ",=\n") }); i >= 0 {
		return r, fmt.Errorf("%q is not a project: write ROLE/SITE/PROJECT, where the name has no comma and no equals sign", r.Projects[i])
	}
	return r, nil
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
