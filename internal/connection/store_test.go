package connection

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/program"
)

// TestContexts proves that a context is readable only by its owner and is read back unchanged, that one context may be
// in use, and that a removed context no longer exists and is not in use.
func TestContexts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ZERODAG_CONFIG_HOME", home)
	if names, err := Names(); err != nil || len(names) > 0 {
		t.Errorf("without a folder: %v, %v", names, err)
	}
	if name, err := InUse(); name != "" || err != nil {
		t.Errorf("without a folder %q is in use, %v", name, err)
	}
	if _, err := Load("prod"); err == nil || !strings.Contains(err.Error(), "zerodag context set prod -e URL creates it") {
		t.Errorf("%v", err)
	}
	for _, s := range []*Server{{Name: "prod", Endpoint: "https://flows.example.com", Token: "a=b: #!\\ äö"}, {Name: "stage", Endpoint: "localhost:1", IAM: true}, {Name: "open", Endpoint: "[::1]:1"}} {
		if err := s.Save(); err != nil {
			t.Fatal(err)
		}
		got, err := Load(s.Name)
		if err != nil || *got != *s {
			t.Errorf("%+v became %+v, %v", s, got, err)
		}
		if info, err := os.Stat(filepath.Join(home, "contexts", s.Name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", s.Name, info.Mode(), err)
		}
		if err := got.Use(); err != nil {
			t.Error(err)
		}
		if who := map[string]string{"prod": "token", "stage": "AWS credentials", "open": "-"}[s.Name]; got.Who() != who {
			t.Errorf("%s: %s", s.Name, got.Who())
		}
	}
	names, err := Names()
	if diff := cmp.Diff([]string{"open", "prod", "stage"}, names); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if name, err := InUse(); name != "open" || err != nil {
		t.Errorf("%q is in use, %v", name, err)
	}
	if err := Forget("open"); err != nil {
		t.Error(err)
	}
	if name, err := InUse(); name != "" || err != nil {
		t.Errorf("%q is in use, %v", name, err)
	}
	if err := Forget("open"); err == nil || !strings.Contains(err.Error(), "existing contexts: prod, stage") {
		t.Errorf("%v", err)
	}
	for range 2 {
		if err := Leave(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Chmod(filepath.Join(home, "contexts", "prod"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load("prod"); err != nil || !strings.Contains(s.warning, "prod") {
		t.Errorf("others can read a token, and the warning is %q, %v", s.warning, err)
	}
}

// TestWrongContexts proves that no name leads out of the folder, and that a tampered file does not count as a context.
func TestWrongContexts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ZERODAG_CONFIG_HOME", home)
	for _, name := range []string{"", ".", "..", ".hidden", "../config", "a/b", `a\b`, "a\nb", "a\x00"} {
		if _, err := Load(name); !program.IsUsageError(err) {
			t.Errorf("%q: %v", name, err)
		}
		if err := Forget(name); err == nil {
			t.Errorf("%q is forgotten", name)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, "contexts", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string][2]string{
		"empty": {"", "has no client.http.endpoint"}, "broken": {`\u1`, "must be Java properties"}, "switch": {"client.http.endpoint=x\nclient.http.iam=perhaps", "must be true or false"},
		"user": {"client.http.endpoint=http://me:secret@x", "must not contain a user and password"}, "ftp": {"client.http.endpoint=ftp://x", "has an invalid client.http.endpoint"},
	} {
		if err := os.WriteFile(filepath.Join(home, "contexts", name), []byte(x[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), x[1]) {
			t.Errorf("%s: %v, want %q", name, err, x[1])
		}
	}
	if names, err := Names(); err != nil || len(names) != 5 {
		t.Errorf("a folder is a context: %v, %v", names, err)
	}
}
