package env_test

import (
	"strings"
	"testing"

	"zerodag/internal/env"
)

// TestTaskRoles proves that only the projects to which a role is granted may use it.
func TestTaskRoles(t *testing.T) {
	t.Parallel()
	const load, read, all = "arn:aws:iam::111111111111:role/load", "arn:aws:iam::111111111111:role/team/read", "arn:aws-cn:iam::111111111111:role/all"
	c := env.Commands{Roles: []string{"0/sales=" + load, "7/*=" + read, all, "sales=" + load}}
	for _, x := range []struct {
		site          int64
		project, role string
		want          bool
	}{
		{0, "sales", load, true}, {0, "other", load, false}, {7, "sales", load, false}, {1, "sales", load, false},
		{7, "anything", read, true}, {0, "sales", read, false}, {70, "x", read, false},
		{3, "x", all, true}, {0, "sales", "", false}, {0, "sales", load + "2", false}, {7, "*", read, true}, {0, "*", load, false},
	} {
		if got := c.Allows(x.site, x.project, x.role); got != x.want {
			t.Errorf("site %d, project %s, role %s: %t", x.site, x.project, x.role, got)
		}
	}
}

// FuzzTaskRole proves that an entry is read as it was written, and that no other text is a role.
func FuzzTaskRole(f *testing.F) {
	for _, s := range []string{"0/sales=arn:aws:iam::111111111111:role/x", "arn:aws:iam::111111111111:role/a/b", "0/*=arn", "=", "a=b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		owner, arn, err := env.TaskRole(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(arn, "arn:") || owner == "" && arn != text || owner != "" && owner+"="+arn != text {
			t.Errorf("%q was read as %q and %q", text, owner, arn)
		}
	})
}
