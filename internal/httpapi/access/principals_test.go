package access

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPrincipals checks how grants to principals are read, and that ambiguous grants are refused.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	got, err := ParsePrincipals([]string{
		"arn:aws:iam::111122223333:role/team-a=admin/7", " arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Ops_0123=owner",
		"arn:aws-cn:iam::111122223333:user/people/a=b,c@d=operator", "arn:aws:iam::444455556666:root=viewer/3", "arn:aws:iam::111122223333:role/crm=developer/7/crm",
	})
	want := Principals{{"111122223333:role/team-a", Right{Role: Admin, Site: 7}}, {"111122223333:role/AWSReservedSSO_Ops_0123", Right{Role: Owner}}, {"111122223333:user/a=b,c@d", Right{Role: Operator}},
		{"444455556666:", Right{Role: Viewer, Site: 3}}, {"111122223333:role/crm", Right{Developer, 7, []string{"crm"}}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, wrong := range []string{
		"", "=viewer", "arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/a=king", "arn:aws:iam::111122223333:role/a=viewer/", "arn:aws:iam::111122223333:role/a=viewer/-1", "arn:aws:iam::111122223333:role/a=viewer/0/", "arn:aws:iam::111122223333:role/a=owner/0/x",
		"arn:aws:iam::1:role/a=viewer", "arn:aws:iam::111122223333:role/*=viewer", "arn:aws:iam::*:role/a=viewer", "arn:aws:iam::111122223333:role/=viewer", "arn:aws:iam::111122223333:group/a=viewer",
		"arn:aws:sts::111122223333:assumed-role/a/b=viewer", "111122223333=viewer", "*=owner", "a@example.com=viewer",
	} {
		if list, err := ParsePrincipals([]string{wrong}); err == nil {
			t.Errorf("%q is read as %v", wrong, list)
		}
	}
}

// TestPrincipalOf checks which callers a grant matches: it uses AWS's ARNs of users, role sessions, federated users and
// the root user (IAM User Guide, "IAM identifiers").
func TestPrincipalOf(t *testing.T) {
	t.Parallel()
	list, err := ParsePrincipals([]string{
		"arn:aws:iam::111122223333:role/service/team=admin/7", "arn:aws:iam::111122223333:user/ann=operator", "arn:aws:iam::444455556666:role/ops=viewer/2", "arn:aws:iam::444455556666:root=owner",
	})
	if err != nil {
		t.Fatal(err)
	}
	for arn, want := range map[string]string{
		"arn:aws:sts::111122223333:assumed-role/team/session": "admin/7", "arn:aws:sts::111122223333:assumed-role/team/role/ops": "admin/7",
		"arn:aws:iam::111122223333:user/ann": "operator/0", "arn:aws:iam::111122223333:user/people/ann": "operator/0",
		"arn:aws:sts::111122223333:assumed-role/ann/x": "", "arn:aws:sts::111122223333:assumed-role/teams/x": "", "arn:aws:iam::111122223333:user/team": "",
		"arn:aws:iam::111122223333:root": "", "arn:aws:sts::111122223333:federated-user/ann": "", "arn:aws:sts::999922223333:assumed-role/team/x": "",
		"arn:aws:sts::444455556666:assumed-role/ops/x": "viewer/2", "arn:aws:sts::444455556666:assumed-role/other/x": "owner/0", "arn:aws:iam::444455556666:root": "owner/0",
		"arn:aws:sts::444455556666:federated-user/ann": "owner/0", "": "", "team": "", "arn:aws:sts::444455556666:unknown/x": "", "arn:aws:iam::444455556666:rootx": "",
	} {
		got := ""
		if g, ok := list.of(arn); ok {
			got = g.Role.String() + "/" + string('0'+rune(g.Site))
		}
		if got != want {
			t.Errorf("%s is granted %q, want %q", arn, got, want)
		}
	}
}

// FuzzPrincipals proves that grants apply only to principals of accounts that the text names.
func FuzzPrincipals(f *testing.F) {
	f.Add("arn:aws:iam::111122223333:role/a=owner", "arn:aws:sts::111122223333:assumed-role/a/b")
	f.Add("arn:aws:iam::111122223333:root=owner", "arn:aws:iam::111122223333:user/b")
	f.Add("arn:aws:iam::111122223333:user/x/y=viewer/2", "arn:aws:iam::111122223333:user/y")
	f.Fuzz(func(t *testing.T, text, arn string) {
		list, err := ParsePrincipals([]string{text})
		if err != nil {
			return
		}
		g, ok := list.of(arn)
		if !ok {
			return
		}
		account, name, _ := strings.Cut(g.Who, ":")
		_, name, _ = strings.Cut(name, "/")
		if parts := strings.SplitN(arn, ":", 6); len(parts) != 6 || parts[4] != account || !strings.Contains(parts[5], name) || !strings.Contains(text, account) {
			t.Errorf("%q grants %q: %+v", text, arn, g)
		}
	})
}
