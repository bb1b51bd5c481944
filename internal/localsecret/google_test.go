package localsecret

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/configuration"
)

// TestGoogleSecrets checks where a run finds the key of Google's own tools, that a secret of this machine and its
// project take precedence, and that an error is reported if a named file is missing.
func TestGoogleSecrets(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"} {
		t.Setenv(name, "")
	}
	t.Setenv("CLOUDSDK_CONFIG", folder)
	read := func() map[string]string {
		t.Helper()
		secrets, err := googleSecrets()
		if err != nil {
			t.Fatal(err)
		}
		return secrets
	}
	if got := read(); got != nil {
		t.Errorf("there is no file, and yet %v", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "application_default_credentials.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p")
	if diff := cmp.Diff(map[string]string{"gcp.credential": "{}", "gcp.project": "p"}, read()); diff != "" {
		t.Error(diff)
	}
	for own, want := range map[string]string{"": "p", "gcp.credential": ""} {
		f := secretFiles{Settings: configuration.Settings{"secrets." + own: "mine"}, dir: t.TempDir(), td: sync.OnceValues(tdSecrets), google: sync.OnceValues(googleSecrets)}
		if got, _, err := f.Secret("gcp.project"); got != want || err != nil {
			t.Errorf("with %q of its own: project %q, %v", own, got, err)
		}
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(folder, "nowhere.json"))
	if _, err := googleSecrets(); err == nil {
		t.Error("a missing file is not reported")
	}
}
