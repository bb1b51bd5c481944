//go:build linux

package main_test

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/sandbox/sandboxtest"
	"zerodag/operators"
)

// TestStatic checks that the program needs no loader and no library of an image.
func TestStatic(t *testing.T) {
	t.Parallel()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if !static(t, name) {
		t.Error("the runner is linked dynamically")
	}
	if info, err := os.Stat(name); err != nil || info.Size() >= 8<<20 {
		t.Errorf("its size is %v, %v, want less than 8 MB", info.Size(), err)
	}
}

func static(t *testing.T, name string) bool {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// busybox returns a static busybox: a whole image that needs no libc.
func busybox(t *testing.T) string {
	t.Helper()
	name, err := exec.LookPath("busybox")
	if err == nil && static(t, name) {
		return name
	}
	if strings.Contains(os.Getenv("REQUIRE"), "peers") {
		t.Fatal("no static busybox is on this machine, and REQUIRE names peers: install it (apt-get install busybox-static)")
	}
	t.Skip("NOT RUN: it needs a static busybox (apt-get install busybox-static)")
	return ""
}

// container starts a program in a separate root file system, as a container does: with /proc, /dev and the volume of
// the runner, and nothing else of this machine. $1 is the root, $2 the volume, $3 "ro" or "rw", $4 the user.
const container = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
mount --bind "$2" "$1/zerodag"
mount -o remount,bind,$3 "$1"
exec chroot --userspec="$4" "$1" /zerodag/runner run`

// TestImages checks that the runner starts in images that contain almost nothing, with a root file system that is not
// writable, and as a user other than root. It also checks that a command whose program is missing from the image
// reports that.
func TestImages(t *testing.T) {
	t.Parallel()
	asRoot(t)
	box := busybox(t)
	ask := operators.Command{Args: []string{"/bin/sh", "-c", "cat hello.txt; id -u; touch /mark; echo x > $TMPDIR/x && echo written; test -f /etc/passwd || echo bare"}}
	const noShell = "the image test has no /bin/sh, the shell that this command needs: choose another image (docker: {image: …})"
	for name, c := range map[string]struct {
		programs []string // links to busybox
		mode     string
		user     string
		command  operators.Command
		log      []string
		why      string
	}{
		"no libc":       {[]string{"bin/sh", "bin/cat", "bin/id", "bin/touch", "bin/test"}, "rw", "0:0", ask, []string{"hello\n", "written", "bare"}, ""},
		"read-only":     {[]string{"bin/sh", "bin/cat", "bin/id", "bin/touch", "bin/test"}, "ro", "0:0", ask, []string{"hello\n", "Read-only file system", "written"}, ""},
		"not root":      {[]string{"bin/sh", "bin/cat", "bin/id", "bin/touch", "bin/test"}, "rw", "65532:65532", ask, []string{"hello\n", "65532\n", "Permission denied", "written"}, ""},
		"no shell":      {[]string{"app/echo"}, "ro", "0:0", operators.Command{Args: []string{"/app/echo", "from", "a", "program"}}, []string{"from a program\n"}, ""},
		"needs a shell": {[]string{"app/echo"}, "ro", "0:0", ask, nil, noShell},
		"nothing":       {nil, "ro", "0:0", ask, nil, noShell},
		"no language":   {[]string{"bin/sh"}, "rw", "0:0", operators.Command{Args: []string{"python3", "x.py"}}, nil, "the image test has no python3, the program of this command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(t, nil)
			w.Machines.Env = append(w.Machines.Env, "ZERODAG_WORK=", "PATH=/bin")
			root, volume := image(t, box, c.programs)
			w.Machines.Into = func(p *exec.Cmd) {
				p.Path, p.Args = "/bin/sh", []string{"sh", "-c", "PATH=/usr/sbin:/usr/bin:/sbin:/bin; export PATH; " + container, "sh", root, volume, c.mode, c.user}
				p.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
			}
			exit, err := w.Run(within(t, time.Minute), sandboxtest.Task(1, 2, 1), c.command)
			if err != nil || exit.Code != 0 && c.why == "" || !strings.HasPrefix(exit.Why, c.why) {
				t.Fatalf("got %+v, %v, want %q", exit, err, c.why)
			}
			log := w.Store.LogOf(1, "+w+t2")
			for _, want := range c.log {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
		})
	}
}

// image makes a root file system with some programs, and the volume with the runner.
func image(t *testing.T, box string, programs []string) (root, volume string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "image-") // not t.TempDir: commands of other users must be able to read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	root, volume = filepath.Join(dir, "root"), filepath.Join(dir, "volume")
	for _, d := range []string{dir, root, volume, root + "/proc", root + "/dev", root + "/zerodag", root + "/tmp", volume + "/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir, 0o755)
	os.Chmod(root+"/tmp", 0o777)
	os.Chmod(volume+"/work", 0o711)
	runner, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	program(t, runner, volume+"/runner")
	for i, name := range programs {
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			program(t, box, to)
		} else if err := os.Link(filepath.Join(root, programs[0]), to); err != nil {
			t.Fatal(err)
		}
	}
	return root, volume
}

func program(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		t.Fatal(err)
	}
}
