package access

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host"
)

// TestGrants checks how grants are read, and that ambiguous grants are refused.
func TestGrants(t *testing.T) {
	t.Parallel()
	got, err := ParseGrants(" Alice@Example.com=owner,\n@example.com = viewer/3 ,group:Data Team=operator\n\ngroup:a=b=admin,group:sales=developer/0/sales/big crm")
	want := []Grant{{"alice@example.com", Right{Role: Owner}}, {"@example.com", Right{Role: Viewer, Site: 3}}, {"group:Data Team", Right{Role: Operator}}, {"group:a=b", Right{Role: Admin}},
		{"group:sales", Right{Developer, 0, []string{"sales", "big crm"}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, wrong := range []string{"", " , \n", "alice", "alice=viewer", "alice@example.com", "=viewer", "*=viewer", "@=viewer", "@*=viewer", "*@example.com=viewer", "group:=viewer",
		"a@b@c=viewer", "@example.com=king", "@example.com=", "@example.com=viewer/x", "@example.com=viewer/-1", "@example.com=viewer/", "@a.b=viewer,@A.B=admin",
		"@example.com=viewer/0/", "@example.com=viewer/0/a//b", "@example.com=viewer/sales", "@example.com=owner/0/a", "@example.com=metrics/0/a"} {
		if list, err := ParseGrants(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, list)
		}
	}
}

// FuzzParseGrants proves that a user who matches a parsed grant has an address, a domain or a group that the text
// names.
func FuzzParseGrants(f *testing.F) {
	f.Add("alice@example.com=owner,@example.com=viewer/3", "alice@example.com", "ops")
	f.Add("group:ops=admin", "", "ops")
	f.Add("@=viewer\n@@=viewer", "@", "")
	f.Fuzz(func(t *testing.T, text, email, group string) {
		list, err := ParseGrants(text)
		if err != nil {
			return
		}
		if g, granted := GrantOf(list, host.Person{Name: "x"}); granted {
			t.Errorf("%q lets everybody in: %+v", text, g)
		}
		g, granted := GrantOf(list, host.Person{Email: email, Groups: []string{group}})
		_, domain, _ := strings.Cut(strings.ToLower(email), "@")
		if granted && g.Who != strings.ToLower(email) && (domain == "" || g.Who != "@"+domain) && g.Who != "group:"+group {
			t.Errorf("%q lets %q of %q in by %+v", text, email, group, g)
		}
	})
}
