package executors_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/internal/executors"
	"zerodag/operators"
)

// asRoot skips a test that needs root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		if strings.Contains(os.Getenv("REQUIRE"), "root") {
			t.Fatal("commands of other users need root, and REQUIRE names it")
		}
		t.Skip("NOT RUN: commands of other users need root")
	}
}

// TestUserOfEachSite proves that each site's commands run as a separate user, who cannot read the workspaces of other
// sites, and that no command runs if its site has no user or if the ID belongs to an existing user.
func TestUserOfEachSite(t *testing.T) {
	t.Parallel()
	asRoot(t)
	parent, err := os.MkdirTemp("", "zerodag-users-") // other users cannot access the folders of package testing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	e, err := executors.New(executors.Settings{User: "31100-31199"})
	if err != nil {
		t.Fatal(err)
	}
	run := func(site int64, script string) (string, error) {
		root := filepath.Join(parent, fmt.Sprint(site))
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_, err := e.In(root, operators.Identity{SiteID: site}).Run(t.Context(), operators.Command{Args: []string{"/bin/sh", "-c", script}, Stdout: &out})
		return out.String(), err
	}
	if got, err := run(0, `id -u; id -G; echo "$USER $HOME"; umask 0; echo mine >file`); err != nil || got != "31100\n31100\nsite0 "+parent+"/0\n" {
		t.Errorf("site 0: %q, %v", got, err)
	}
	if got, err := run(7, `id -u; cat ../0/file; ls ../0; kill -0 $PPID; cat /proc/$PPID/environ; true`); err != nil || !strings.HasPrefix(got, "31107\n") ||
		strings.Contains(got, "mine") || strings.Count(got, "ermi") != 4 {
		t.Errorf("site 7: %q, %v", got, err)
	}
	for _, site := range []int64{100, 1 << 40, -1} {
		if got, err := run(site, "id -u"); got != "" || err == nil || !strings.Contains(err.Error(), "has no user: its ID must be in the range 31100-31199") {
			t.Errorf("site %d: %q, %v", site, got, err)
		}
	}
	for ids, want := range map[string]string{"65534-65535": "is the ID of nobody", "1-2": "is the ID of"} {
		e, err = executors.New(executors.Settings{User: ids})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(0, "id -u"); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", ids, got, err)
		}
	}
	for _, ids := range []string{"0-9", "9-8", "5000000000-5000000001", "-", "1-", "70000-99999-1", "nosuch"} {
		if _, err := executors.New(executors.Settings{User: ids}); err == nil || !strings.Contains(err.Error(), "agent.command_executor.process.user") {
			t.Errorf("%s: %v", ids, err)
		}
	}
}

// TestUserPerSiteByDefault proves that the default for servers with a login never overrides an administrator's choice.
func TestUserPerSiteByDefault(t *testing.T) {
	t.Parallel()
	asRoot(t)
	auto := executors.Settings{Isolation: executors.IsolateAuto}
	if got := auto.PerSite(os.TempDir()).User; got != executors.UserPerSite {
		t.Errorf("by default: %q", got)
	}
	private, err := os.MkdirTemp("", "zerodag-private-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(private) })
	hidden := auto.PerSite(private)
	hidden.Hidden = []string{private}
	if e, err := executors.New(hidden); hidden.User != "" || err != nil || !strings.Contains(e.Exposed(), "cannot enter "+private) {
		t.Errorf("with a temporary folder that others cannot enter: %q, %v", hidden.User, err)
	}
	for _, s := range []executors.Settings{{Isolation: executors.IsolateNone}, {Isolation: executors.IsolateAlways}, {},
		{Isolation: executors.IsolateAuto, User: "nobody"}, {Isolation: executors.IsolateAuto, Allow: []string{operators.InDocker}}} {
		if got := s.PerSite(os.TempDir()).User; got != s.User {
			t.Errorf("%+v: got %q", s, got)
		}
	}
}
