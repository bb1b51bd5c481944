package packages_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// needed skips a test that builds releases, which takes minutes, unless REQUIRE names packages.
func needed(t *testing.T) {
	t.Helper()
	if !strings.Contains(os.Getenv("REQUIRE"), "packages") {
		t.Skip("NOT TESTED: releases are built where REQUIRE names packages: make test-packages")
	}
}

// release builds a release for this machine and others, like `make release-snapshot`, and returns its folder.
func release(t *testing.T, version, key string, others ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	c := exec.Command("make", "--no-print-directory", "release-snapshot", "VERSION="+version, "DIST="+out, "TARGETS=linux/"+runtime.GOARCH+" "+strings.Join(others, " "))
	c.Dir, c.Env = "../..", append(os.Environ(), "ZERODAG_SIGNING_KEY="+key)
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c, err, text)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRelease checks that a commit and a key produce the same bytes each time, that the checksums match the files, that
// everything can be installed, and that the deb runs a server whose settings and data survive an upgrade.
func TestRelease(t *testing.T) {
	t.Parallel()
	needed(t)
	key := throwAway(t)
	first, again := release(t, "0.9.1", key, "windows/amd64"), release(t, "0.9.1", key, "windows/amd64")
	for _, name := range []string{"SHA256SUMS", "SHA256SUMS.sig"} {
		if a, b := read(t, filepath.Join(first, name)), read(t, filepath.Join(again, name)); a != b {
			t.Errorf("%s of two builds differs:\n%s\n%s", name, a, b)
		}
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = first
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sums: %v\n%s", err, out)
	}
	for _, ending := range []string{".deb", ".rpm", ".tar.gz", ".cdx.json"} {
		if info, err := os.Stat(filepath.Join(first, "zerodag_0.9.1_linux_"+runtime.GOARCH+ending)); err != nil || info.Size() < 5000 {
			t.Errorf("%s: %v", ending, err)
		}
	}
	t.Run("installs", func(t *testing.T) { installs(t, first) })
	t.Run("image", func(t *testing.T) { runsImage(t, filepath.Join(first, "zerodag_0.9.1_image.oci.tar")) })
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("NOT TESTED: dpkg is not on this machine")
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root installs a package with a user of its own")
	}
	upgrade(t, debOf(first, "0.9.1"), debOf(release(t, "0.9.2", ""), "0.9.2"))
}

func debOf(folder, version string) string {
	return filepath.Join(folder, "zerodag_"+version+"_linux_"+runtime.GOARCH+".deb")
}

// upgrade installs a package, uses its server, installs the next one, and removes it.
func upgrade(t *testing.T, first, next string) {
	s := newSystem(t)
	s.dpkg("--install", first)
	s.verifyUnit()
	s.appendSetting("retention.attempts = 90d")
	stop := s.start()
	if got := s.zerodag("version"); !strings.Contains(got, "Client version: 0.9.1") || !strings.Contains(got, "Server version: 0.9.1") {
		t.Errorf("the first version says %s", got)
	}
	project := filepath.Join(s.root, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	const workflow = "timezone: UTC\n+a:\n  sh>: 'echo user $(id -u); test ! -w /etc/passwd'\n"
	if err := os.WriteFile(filepath.Join(project, "nightly.dig"), []byte(workflow), 0o644); err != nil {
		t.Fatal(err)
	}
	s.zerodag("push", "reports", "--project", project)
	s.zerodag("secrets", "--project", "reports", "--set", "db.password=of-the-first")
	s.zerodag("start", "reports", "nightly", "--session", "2024-03-01", "--wait")
	if log := s.zerodag("log", "1"); !strings.Contains(log, fmt.Sprintf("user %d\n", s.user().Uid)) {
		t.Errorf("its commands do not run as the user zerodag:\n%s", log)
	}
	stop()

	s.dpkg("--install", next)
	if got := read(t, s.path("/etc/zerodag/server.properties")); !strings.Contains(got, "retention.attempts = 90d") {
		t.Errorf("the upgrade changed the settings:\n%s", got)
	}
	stop = s.start()
	for what, want := range map[string]string{"version": "Server version: 0.9.2", "attempts": "nightly", "secrets --project reports": "db.password"} {
		if got := s.zerodag(strings.Fields(what)...); !strings.Contains(got, want) {
			t.Errorf("after the upgrade %s says %s", what, got)
		}
	}
	s.zerodag("start", "reports", "nightly", "--session", "2024-03-02", "--wait")
	stop()

	s.dpkg("--remove", "zerodag")
	s.dpkg("--purge", "zerodag")
	for path, want := range map[string]bool{"/usr/bin/zerodag": false, "/etc/zerodag/server.properties": false, "/var/lib/zerodag/zerodag.db": true, "/var/lib/zerodag/secret.key": true} {
		if _, err := os.Stat(s.path(path)); (err == nil) != want {
			t.Errorf("after the removal %s is there: %v", path, err == nil)
		}
	}
}

// TestWrongBase checks that an image base that is not an OCI layout is reported, and that nothing is left that looks
// like a release.
func TestWrongBase(t *testing.T) {
	t.Parallel()
	needed(t)
	out := filepath.Join(t.TempDir(), "dist")
	c := exec.Command("make", "--no-print-directory", "release-snapshot", "VERSION=0.9.1", "DIST="+out, "TARGETS=linux/"+runtime.GOARCH, "IMAGE_BASE="+t.TempDir())
	c.Dir = "../.."
	text, err := c.CombinedOutput()
	if err == nil || !bytes.Contains(text, []byte("the base is not an OCI layout")) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(out, "SHA256SUMS")); err == nil {
		t.Error("there are checksums of a release that is not whole")
	}
}
