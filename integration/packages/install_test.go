package packages_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// throwAway makes a key in the form that a publisher has in the environment.
func throwAway(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// ran runs a command in a folder, with HOME there, and returns its output.
func ran(t *testing.T, folder string, environment []string, command ...string) (string, error) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = folder
	c.Env = append(append(os.Environ(), "HOME="+folder), environment...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// version fails the test unless a program is from the release.
func version(t *testing.T, folder string, command ...string) {
	t.Helper()
	if out, err := ran(t, folder, nil, append(command, "--version")...); err != nil || strings.TrimSpace(out) != "0.9.1" {
		t.Errorf("%v --version: %v\n%s", command, err, out)
	}
}

// copied copies the files of a release that a test changes or downloads.
func copied(t *testing.T, from string, names ...string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(to, name), []byte(read(t, filepath.Join(from, name))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// installs checks that a release installs in each way that needs no separate system: the script, npm, pip, rpm; that
// other tools accept its signature; and that the script refuses changed files.
func installs(t *testing.T, dist string) {
	name := "zerodag_0.9.1_linux_" + runtime.GOARCH
	t.Run("signature", func(t *testing.T) {
		t.Parallel()
		folder := copied(t, dist, "SHA256SUMS", "zerodag.pub")
		signature, err := base64.StdEncoding.DecodeString(read(t, filepath.Join(dist, "SHA256SUMS.sig")))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "signature"), signature, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := ran(t, folder, nil, "openssl", "dgst", "-sha256", "-verify", "zerodag.pub", "-signature", "signature", "SHA256SUMS"); err != nil {
			t.Errorf("openssl: %v\n%s", err, out)
		}
	})
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		home, script := t.TempDir(), filepath.Join(dist, "install.sh")
		out, err := ran(t, home, []string{"ZERODAG_URL=file://" + dist, "ZERODAG_BIN=" + home + "/bin"}, "sh", script)
		if err != nil || !strings.Contains(out, "Installed 0.9.1 as "+home+"/bin/zerodag\n") {
			t.Fatalf("%v\n%s", err, out)
		}
		version(t, home, home+"/bin/zerodag")
		if out, err := ran(t, home, nil, "sh", script); err == nil || !strings.Contains(out, "set ZERODAG_URL") {
			t.Errorf("without an address: %v\n%s", err, out)
		}
	})
	for what, x := range map[string]struct {
		change func(folder string)
		want   string
	}{
		"archive":   {func(folder string) { appendTo(t, filepath.Join(folder, name+".tar.gz"), "x") }, "the checksum of " + name + ".tar.gz is wrong"},
		"sums":      {func(folder string) { appendTo(t, filepath.Join(folder, "SHA256SUMS"), "0  x\n") }, "is not valid: nothing was installed"},
		"signature": {func(folder string) { os.Remove(filepath.Join(folder, "SHA256SUMS.sig")) }, "cannot download"},
		"cut script": {func(folder string) {
			path := filepath.Join(folder, "install.sh")
			text := read(t, path)
			if err := os.WriteFile(path, []byte(text[:strings.LastIndex(text, "\nmain")]), 0o644); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run("changed "+what, func(t *testing.T) {
			t.Parallel()
			folder, home := copied(t, dist, name+".tar.gz", "SHA256SUMS", "SHA256SUMS.sig", "install.sh"), t.TempDir()
			x.change(folder)
			out, err := ran(t, home, []string{"ZERODAG_URL=file://" + folder, "ZERODAG_BIN=" + home + "/bin"}, "sh", filepath.Join(folder, "install.sh"))
			if (err == nil) != (x.want == "") || !strings.Contains(out, x.want) {
				t.Errorf("%v\n%s", err, out)
			}
			if _, err := os.Stat(home + "/bin/zerodag"); err == nil {
				t.Error("a program was installed")
			}
		})
	}
	t.Run("npm", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		if out, err := ran(t, home, nil, "npm", "install", "--offline", "--no-audit", "--no-fund", "--omit=optional", filepath.Join(dist, name+".npm.tgz"), filepath.Join(dist, "zerodag_0.9.1_npm.tgz")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		version(t, home, "node_modules/.bin/zerodag")
		if out, err := ran(t, home, nil, "node_modules/.bin/zerodag", "nosuch"); err == nil || !strings.Contains(out, "nosuch") {
			t.Errorf("a wrong command: %v\n%s", err, out)
		}
	})
	t.Run("pip", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		wheels, err := filepath.Glob(filepath.Join(dist, "zerodag-0.9.1-py3-none-manylinux*.whl"))
		if err != nil || len(wheels) != 1 {
			t.Fatalf("wheels %v, %v", wheels, err)
		}
		if out, err := ran(t, home, nil, "python3", "-m", "venv", "env"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := ran(t, home, nil, "env/bin/pip", "install", "--no-index", wheels[0]); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		version(t, home, "env/bin/zerodag")
		if out, err := ran(t, home, nil, "env/bin/pip", "uninstall", "--yes", "zerodag"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("rpm", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("rpm"); err != nil {
			t.Skip("NOT TESTED: rpm is not on this machine: make test-packages installs it")
		}
		root := t.TempDir()
		if out, err := ran(t, root, nil, "rpm", "--root", root, "--nodeps", "--noscripts", "--install", filepath.Join(dist, name+".rpm")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		version(t, root, root+"/usr/bin/zerodag")
	})
	t.Run("archive", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		if out, err := ran(t, home, nil, "tar", "-xzf", filepath.Join(dist, name+".tar.gz")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		version(t, home, "./zerodag")
	})
	t.Run("formula", func(t *testing.T) {
		t.Parallel()
		if out, err := ran(t, t.TempDir(), nil, "ruby", "-c", filepath.Join(dist, "zerodag.rb")); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		formula, found := read(t, filepath.Join(dist, "zerodag.rb")), false
		for line := range strings.Lines(read(t, filepath.Join(dist, "SHA256SUMS"))) {
			if sum, file, _ := strings.Cut(strings.TrimSpace(line), "  "); file == name+".tar.gz" {
				found = strings.Contains(formula, sum)
			}
		}
		if !found {
			t.Errorf("the formula lacks the sum of %s.tar.gz:\n%s", name, formula)
		}
	})
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(read(t, path)+text), 0o644); err != nil {
		t.Fatal(err)
	}
}
