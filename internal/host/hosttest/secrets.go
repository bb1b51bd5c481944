package hosttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/host/hosttest/suite"
)

// secretsSuite checks a host.Secrets.
func secretsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"store, list and delete": secretsKeep}.Run(t, h)
}

func secretsKeep(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for _, x := range []struct {
		site, project int64
		key, value    string
	}{{1, 1, "b.c", "old"}, {1, 1, "b.c", "new ✓"}, {1, 1, "a", ""}, {1, 1, "long", strings.Repeat("x", 16<<10)}, {1, 2, "a", "other project"}, {2, 1, "a", "other site"},
		{1, 0, "a", "of the site"}, {0, 0, "a", "of the first site"}} {
		suite.Must(t, s.Secrets.PutSecret(ctx, x.site, x.project, x.key, x.value))
	}
	if err := s.Secrets.PutSecret(ctx, 1, 1, "large", strings.Repeat("x", 16<<10+1)); err == nil {
		t.Error("stored a secret of more than 16 KiB, want an error")
	}
	if diff := cmp.Diff([]string{"a", "b.c", "long"}, suite.Got(s.Secrets.SecretKeys(ctx, 1, 1))(t)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	suite.Must(t, s.Secrets.DeleteSecret(ctx, 1, 1, "long"))
	suite.Must(t, s.Secrets.DeleteSecret(ctx, 1, 1, "long"))
	for _, x := range []struct {
		site, project int64
		want          map[string]string
	}{{1, 1, map[string]string{"a": "", "b.c": "new ✓"}}, {1, 2, map[string]string{"a": "other project"}}, {2, 1, map[string]string{"a": "other site"}}, {2, 2, map[string]string{}},
		{1, 0, map[string]string{"a": "of the site"}}, {0, 0, map[string]string{"a": "of the first site"}}, {2, 0, map[string]string{}}} {
		if diff := cmp.Diff(x.want, suite.Got(s.Secrets.ProjectSecrets(ctx, x.site, x.project))(t)); diff != "" {
			t.Errorf("secrets of site %d, project %d (-want +got):\n%s", x.site, x.project, diff)
		}
	}
}
