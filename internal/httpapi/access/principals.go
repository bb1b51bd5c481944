package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Principals holds grants to principals of AWS accounts. A grant's Who has the form ACCOUNT:role/NAME or
// ACCOUNT:user/NAME, or ACCOUNT: for all principals of the account. The first grant that matches applies.
type Principals []Grant

// principalForms matches ARNs of principals: in a grant, and of a request's signer.
var principalForms = sync.OnceValue(func() (forms struct{ granted, signed *regexp.Regexp }) {
	forms.granted = regexp.MustCompile(`^arn:aws[a-z-]*:iam::([0-9]{12}):(root|(?:role|user)/(?:[!-~]+/)?[\w+=,.@-]{1,128})$`)
	forms.signed = regexp.MustCompile(`^arn:aws[a-z-]*:(?:iam|sts)::([0-9]{12}):(root$|assumed-role/[^/]+/|user/|federated-user/)(.*)$`)
	return forms
})

// ParsePrincipals reads grants of the form ARN=RIGHT, where ParseRight reads RIGHT. The ARN names an IAM role or user,
// or ends in ":root" for all principals of the account, as in policies.
func ParsePrincipals(entries []string) (Principals, error) {
	var list Principals
	for _, entry := range entries {
		g, err := parsePrincipal(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

func parsePrincipal(entry string) (Grant, error) {
	cut := strings.LastIndex(entry, "=") // IAM names may contain one
	if cut < 0 {
		return Grant{}, fmt.Errorf("%q is not ARN=ROLE", entry)
	}
	right, err := ParseRight(entry[cut+1:])
	if err != nil {
		return Grant{}, fmt.Errorf("%q: %w", entry, err)
	}
	g := Grant{Right: right}
	m := principalForms().granted.FindStringSubmatch(entry[:cut])
	if m == nil {
		return Grant{}, fmt.Errorf("%q: %q is not the ARN of a role, a user or an account: arn:aws:iam::ACCOUNT:role/NAME, arn:aws:iam::ACCOUNT:user/NAME or arn:aws:iam::ACCOUNT:root", entry, entry[:cut])
	}
	kind, name, _ := strings.Cut(m[2], "/")
	if kind == "root" {
		g.Who = m[1] + ":"
		return g, nil
	}
	g.Who = m[1] + ":" + kind + "/" + name[strings.LastIndex(name, "/")+1:] // a name is unique in its account, regardless of its path
	return g, nil
}

// of returns the first grant that matches the signer of a request, whose ARN comes from AWS.
func (p Principals) of(arn string) (Grant, bool) {
	m := principalForms().signed.FindStringSubmatch(arn)
	if m == nil {
		return Grant{}, false
	}
	who, account := "", m[1]+":"
	if role, is := strings.CutPrefix(m[2], "assumed-role/"); is {
		who = account + "role/" + strings.TrimSuffix(role, "/")
	} else if m[2] == "user/" {
		who = account + "user/" + m[3][strings.LastIndex(m[3], "/")+1:]
	}
	i := slices.IndexFunc(p, func(g Grant) bool { return g.Who == who || g.Who == account })
	if i < 0 {
		return Grant{}, false
	}
	return p[i], true
}
