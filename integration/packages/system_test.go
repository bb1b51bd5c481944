package packages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// system is a folder that dpkg uses as the root of a system.
type system struct {
	t    *testing.T
	root string
	url  string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "zerodag-packages-") // the server's user has access there, unlike in the folders of tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &system{t: t, root: root}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(s.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "var/lib/dpkg/status": ""} {
		if err := os.WriteFile(s.path(file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *system) path(name string) string { return filepath.Join(s.root, name) }

// dpkg runs dpkg on the folder. The scripts of the package run on this machine and get the path of the folder.
func (s *system) dpkg(args ...string) {
	s.t.Helper()
	c := exec.Command("dpkg", append([]string{"--root=" + s.root, "--force-script-chrootless", "--force-depends", "--force-confold"}, args...)...)
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}

// unit returns the last value that the unit sets for a name.
func (s *system) unit(name string) (value string) {
	for line := range strings.Lines(read(s.t, s.path("/usr/lib/systemd/system/zerodag.service"))) {
		if after, found := strings.CutPrefix(strings.TrimSpace(line), name+"="); found {
			value = after
		}
	}
	return value
}

// verifyUnit makes systemd check the unit, if systemd is installed.
func (s *system) verifyUnit() {
	s.t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		s.t.Log("NOT TESTED: systemd-analyze is not on this machine")
		return
	}
	unit := filepath.Join(s.t.TempDir(), "zerodag.service")
	text := strings.ReplaceAll(read(s.t, s.path("/usr/lib/systemd/system/zerodag.service")), "ExecStart=/", "ExecStart="+s.root+"/")
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "zerodag.service") { // other units on this machine may be invalid
			s.t.Errorf("systemd-analyze verify: %v: %s", err, line)
		}
	}
}

func (s *system) appendSetting(line string) {
	s.t.Helper()
	f, err := os.OpenFile(s.path("/etc/zerodag/server.properties"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		s.t.Fatal(err)
	}
}

// user returns the user that the unit runs the server as, from the folder's own /etc/passwd.
func (s *system) user() *syscall.Credential {
	s.t.Helper()
	for line := range strings.Lines(read(s.t, s.path("/etc/passwd"))) {
		if fields := strings.Split(line, ":"); fields[0] == s.unit("User") {
			id, err := strconv.ParseUint(fields[2], 10, 32)
			group, e := strconv.ParseUint(fields[3], 10, 32)
			if err != nil || e != nil {
				s.t.Fatalf("user: %s", line)
			}
			return &syscall.Credential{Uid: uint32(id), Gid: uint32(group)}
		}
	}
	s.t.Fatalf("the package has made no user %s", s.unit("User"))
	return nil
}

// start runs the unit's command as its user, and creates the data folder as systemd does. stop sends SIGTERM and waits.
func (s *system) start() (stop func()) {
	s.t.Helper()
	user := s.user()
	data := s.path("/var/lib/" + s.unit("StateDirectory"))
	if err := os.MkdirAll(data, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(data, int(user.Uid), int(user.Gid)); err != nil {
		s.t.Fatal(err)
	}
	args := strings.Fields(s.unit("ExecStart"))
	for i, a := range args {
		if strings.HasPrefix(a, "/") {
			args[i] = s.path(a)
		}
	}
	info := filepath.Join(data, "runtime.json")
	os.Remove(info)
	// The settings name folders and a port that the whole machine shares.
	args = append(args, "-o", data, "-n", "0", "-X", "server.runtime-info.path="+info)
	var said bytes.Buffer
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Stdout, c.Stderr = data, &said, &said
	c.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	s.url = s.listens(info, ended, &said)
	return func() {
		s.t.Helper()
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Fatal(err)
		}
		if err := <-ended; err != nil {
			s.t.Errorf("the server ended with %v:\n%s", err, &said)
		}
	}
}

// listens waits for the address of the server.
func (s *system) listens(info string, ended chan error, said *bytes.Buffer) string {
	s.t.Helper()
	for tick := time.Tick(5 * time.Millisecond); ; <-tick {
		var where struct {
			Local []struct {
				Host string `json:"host"`
				Port int    `json:"port"`
			} `json:"local_addresses"`
		}
		text, err := os.ReadFile(info)
		if err == nil && json.Unmarshal(text, &where) == nil && len(where.Local) == 1 {
			return fmt.Sprintf("http://%s:%d", where.Local[0].Host, where.Local[0].Port)
		}
		select {
		case err := <-ended:
			s.t.Fatalf("the server ended with %v:\n%s", err, said)
		default:
		}
	}
}

// zerodag runs the installed program as a client, with the first token.
func (s *system) zerodag(args ...string) string {
	s.t.Helper()
	c := exec.Command(s.path("/usr/bin/zerodag"), append(args, "-e", s.url)...)
	token := strings.TrimSpace(read(s.t, s.path("/var/lib/zerodag/admin.token")))
	c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.root, "ZERODAG_TOKEN=" + token}
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("zerodag %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
