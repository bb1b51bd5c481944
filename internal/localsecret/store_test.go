package localsecret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/configuration"
	"zerodag/internal/program"
)

// TestFolder proves that only its owner can read a secret's file, that tasks can read the secret, that it may be set
// again and deleted twice, and that other files in the folder are not secrets.
func TestFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ZERODAG_CONFIG_HOME", home)
	f, store := Open(), Store(configuration.Settings{"secrets.of.configuration": "x", "secrets.both": "of the configuration"})
	if keys, err := f.List(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("without a folder: %v, %v", keys, err)
	}
	for _, key := range []string{"b.c", "a", "both"} {
		if err := f.Set(t.Context(), key, "old"); err != nil {
			t.Fatal(err)
		}
		if err := f.Set(t.Context(), key, "value of "+key+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(home, "secrets")
	for _, name := range []string{".hidden", "no key!", "x.tmp-"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := f.List(t.Context())
	if diff := cmp.Diff([]string{"a", "b.c", "both"}, keys); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if info, err := os.Stat(filepath.Join(folder, "a")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for key, want := range map[string]string{"a": "value of a", "b.c": "value of b.c", "of.configuration": "x", "both": "of the configuration", "none": "", "../config": "", "/etc/passwd": "", "a/../a": ""} {
		value, found, err := store.Secret(key)
		if err != nil || value != want || found != (want != "") {
			t.Errorf("%q: %q, %v, %v", key, value, found, err)
		}
	}
	for range 2 {
		if err := f.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	if _, found, err := store.Secret("a"); found || err != nil {
		t.Errorf("it is deleted: %v, %v", found, err)
	}
}

// TestCheckKey checks which strings are valid keys: no valid key leads out of the folder, is a hidden file or controls
// a terminal.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"a": true, "mail.password": true, "a1-b_c.D": true, strings.Repeat("k", 255): true,
		"": false, ".": false, "..": false, "a/b": false, ".a": false, "a.": false, "a..b": false, "1a": false, "-a": false, "a-": false, "a b": false, "a\n": false, "\x1b[2J": false, "ä": false, strings.Repeat("k", 256): false,
	} {
		if err := CheckKey(key); (err == nil) != want || err != nil && !program.IsUsageError(err) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
