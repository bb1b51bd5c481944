package sitesecret_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/sitesecret"
	"zerodag/internal/vault"
)

// stored keeps secrets by site, project and key.
type stored map[[2]int64]map[string]string

func (s stored) PutSecret(_ context.Context, site, project int64, key, value string) error {
	of := [2]int64{site, project}
	if s[of] == nil {
		s[of] = map[string]string{}
	}
	s[of][key] = value
	return nil
}

func (s stored) DeleteSecret(_ context.Context, site, project int64, key string) error {
	delete(s[[2]int64{site, project}], key)
	return nil
}

func (s stored) SecretKeys(_ context.Context, site, project int64) ([]string, error) {
	return slices.Sorted(maps.Keys(s[[2]int64{site, project}])), nil
}

func (s stored) ProjectSecrets(_ context.Context, site, project int64) (map[string]string, error) {
	return maps.Clone(s[[2]int64{site, project}]), nil
}

// projects holds the name of each project.
type projects map[int64]string

func (p projects) Project(_ context.Context, _, id int64) (host.Project, error) {
	name, found := p[id]
	if !found {
		return host.Project{}, host.ErrNotFound
	}
	return host.Project{ID: id, Name: name}, nil
}

// TestPrecedence checks which of the site's secrets a project gets: secrets for all projects and secrets that name it,
// but none for which it has its own secret with the same key, and none of another site.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	store := stored{}
	secrets := sitesecret.Secrets{Secrets: store, Projects: projects{1: "sales", 2: "crm"}}
	for _, x := range []struct {
		site  int64
		s     host.SiteSecret
		value string
	}{
		{7, host.SiteSecret{Key: "all"}, "two\nlines"}, {7, host.SiteSecret{Key: "some", Projects: []string{"sales", "later"}}, "s"},
		{7, host.SiteSecret{Key: "own"}, "of the site"}, {8, host.SiteSecret{Key: "foreign"}, "f"},
	} {
		if err := sitesecret.Put(t.Context(), secrets, x.site, x.s, x.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := secrets.PutSecret(t.Context(), 7, 1, "own", "of the project"); err != nil {
		t.Fatal(err)
	}
	for project, want := range map[int64]map[string]string{
		1: {"all": "two\nlines", "some": "s", "own": "of the project"},
		2: {"all": "two\nlines", "own": "of the site"},
		9: {"all": "two\nlines", "own": "of the site"}, // it does not exist, and so has no name
	} {
		got, err := secrets.ProjectSecrets(t.Context(), 7, project)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("project %d: %v\n%s", project, err, diff)
		}
	}
	list, err := sitesecret.List(t.Context(), secrets, 7)
	if diff := cmp.Diff([]host.SiteSecret{{Key: "all"}, {Key: "own"}, {Key: "some", Projects: []string{"later", "sales"}}}, list); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if err := sitesecret.Delete(t.Context(), secrets, 7, "all"); err != nil {
		t.Fatal(err)
	}
	if got, err := secrets.ProjectSecrets(t.Context(), 7, 2); err != nil || len(got) != 1 {
		t.Errorf("after it was deleted: %v, %v", got, err)
	}
}

// TestUnusable checks that a value is refused if it is too large together with its list, and that a stored value
// without a list causes an error that does not contain the value.
func TestUnusable(t *testing.T) {
	t.Parallel()
	store := stored{}
	var refused *host.Error
	if err := sitesecret.Put(t.Context(), store, 7, host.SiteSecret{Key: "k", Projects: []string{"sales"}}, strings.Repeat("x", sitesecret.Most-5)); !errors.As(err, &refused) || refused.Code != host.Invalid {
		t.Errorf("a value that is too large: %v", err)
	}
	if err := store.PutSecret(t.Context(), 7, sitesecret.Site, "k", "hidden"); err != nil {
		t.Fatal(err)
	}
	if _, err := (sitesecret.Secrets{Secrets: store, Projects: projects{}}).ProjectSecrets(t.Context(), 7, 1); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "secret k of the site") {
		t.Errorf("a value without a list: %v", err)
	}
}

// TestMaskOfFormerSecrets proves that stored values are masked with secrets that the project may no longer use.
func TestMaskOfFormerSecrets(t *testing.T) {
	t.Parallel()
	store := stored{}
	secrets := sitesecret.Secrets{Secrets: store, Projects: projects{1: "sales"}}
	for _, s := range []host.SiteSecret{{Key: "a", Projects: []string{"crm"}}, {Key: "b"}} {
		if err := sitesecret.Put(t.Context(), store, 0, s, "value-of-"+s.Key); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.PutSecret(t.Context(), 0, 1, "b", "value-of-sales"); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Of(t.Context(), secrets, 0, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	got := v.MaskAll(param.New("k", "x value-of-a value-of-b value-of-sales y"))
	if text := param.Text(got); strings.Contains(text, "value-of") || !strings.Contains(text, "x ") {
		t.Errorf("got %s", text)
	}
}

// TestSize proves that a value of the maximum size is accepted if all projects may use it.
func TestSize(t *testing.T) {
	t.Parallel()
	for n, accepted := range map[int]bool{sitesecret.Most: true, sitesecret.Most + 1: false} {
		if err := sitesecret.Put(t.Context(), stored{}, 0, host.SiteSecret{Key: "k"}, strings.Repeat("x", n)); (err == nil) != accepted {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// failing is a store that cannot read the secrets of a site once.
type failing struct {
	stored
	failed *bool
}

func (f failing) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	if project == sitesecret.Site && !*f.failed {
		*f.failed = true
		return nil, errors.New("no connection")
	}
	return f.stored.ProjectSecrets(ctx, site, project)
}

// TestReadAgain proves that a run whose project has secrets gets the site's secrets after a failed read of them, instead
// of being told that there are none.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	store := stored{}
	if err := errors.Join(sitesecret.Put(t.Context(), store, 0, host.SiteSecret{Key: "shared"}, "value"), store.PutSecret(t.Context(), 0, 1, "own", "mine")); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Of(t.Context(), sitesecret.Secrets{Secrets: failing{store, new(bool)}, Projects: projects{1: "sales"}}, 0, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Secret("shared"); err == nil {
		t.Error("the failed read is not reported")
	}
	if got, found, err := v.Secret("shared"); got != "value" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
}
