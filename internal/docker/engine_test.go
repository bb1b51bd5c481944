package docker_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/docker"
	"zerodag/internal/executors/executorstest"
	"zerodag/operators"
)

// engine returns a real engine that can run a container here, with an image that has a shell and little else: the image
// is built from busybox, because there may be no access to a registry.
func engine(t *testing.T) (program, image string) {
	t.Helper()
	box, err := exec.LookPath("busybox")
	if err != nil {
		missing(t, "it needs a static busybox (apt-get install busybox-static)")
	}
	root := t.TempDir()
	for _, name := range []string{"bin", "tmp", "etc"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(box)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "bin/busybox"), text, 0o755)
	}
	list, e := exec.Command(box, "--list").Output()
	if err != nil || e != nil {
		t.Fatal(err, e)
	}
	for _, name := range strings.Fields(string(list)) {
		if name != "busybox" {
			os.Symlink("busybox", filepath.Join(root, "bin", name))
		}
	}
	tar, err := exec.Command("tar", "-C", root, "-c", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for _, program := range []string{"docker", "podman", modest(t)} {
		image := "localhost/zerodag-test-" + strings.ToLower(filepath.Base(filepath.Dir(root))) + ":1"
		load := exec.Command(program, "import", "-", image)
		load.Stdin = bytes.NewReader(tar)
		out, err := load.CombinedOutput()
		if err == nil {
			t.Cleanup(func() { exec.Command(program, "rmi", "-f", image).Run() })
			out, err = exec.Command(program, "run", "--rm", "--init", "--memory", "64m", "--pids-limit", "100", image, "true").CombinedOutput()
		}
		if err == nil {
			return program, image
		}
		why = append(why, program+": "+err.Error()+": "+strings.TrimSpace(string(out)))
	}
	missing(t, "no engine runs containers here: "+strings.Join(why, "; "))
	return "", ""
}

// modest returns podman for a restricted machine: without higher limits or a separate network.
func modest(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	const settings = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\nnetns = \"host\"\n[engine]\ncgroup_manager = \"cgroupfs\"\n"
	for name, text := range map[string]string{"containers.conf": settings, "podman": "#!/bin/sh\nCONTAINERS_CONF=" + folder + "/containers.conf exec podman \"$@\"\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "podman")
}

// TestEngine proves with a real engine, docker or podman, that it behaves the way TestSuite and TestLimits assume.
func TestEngine(t *testing.T) {
	t.Parallel()
	program, image := engine(t)
	d := docker.New(docker.Options{Grace: time.Second, Name: "engine-test-" + image})
	with := func(text string) operators.Sandbox {
		m := options(t, program, text)
		m.Set("image", image)
		return operators.Sandbox{Docker: m}
	}
	run := func(t *testing.T, s operators.Sandbox, args ...string) (operators.Exit, string, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var out bytes.Buffer
		exit, err := d.In(t.TempDir(), docker.Project{ID: 1, Revision: "r"}).Run(ctx, operators.Command{Args: args, Stdout: &out, Sandbox: s})
		return exit, out.String(), err
	}
	t.Run("suite", func(t *testing.T) {
		executorstest.Exercise(t, executorstest.Subject{Mixed: true, Sandbox: with(`{}`), In: func(root string) operators.Commands { return d.In(root, docker.Project{ID: 1}) }})
	})
	t.Run("memory", func(t *testing.T) {
		t.Cleanup(func() { os.Remove("oom") }) // podman leaves this file in the current folder
		s := with(`{}`)
		s.Memory = 32 << 20
		if exit, out, err := run(t, s, "sh", "-c", "head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null"); err != nil || exit.Why != operators.OutOfMemory(s.Memory) {
			t.Errorf("got %+v, %v, %q", exit, err, out)
		}
	})
	t.Run("processes", func(t *testing.T) {
		s := with(`{}`)
		s.Processes, s.Time = 30, time.Minute
		if exit, out, err := run(t, s, "sh", "-c", "b() { while :; do b & done; }; b; sleep 1000"); err != nil || exit.Code == 0 {
			t.Errorf("got %+v, %v, %q", exit, err, out)
		}
	})
	t.Run("no program", func(t *testing.T) {
		if _, _, err := run(t, with(`{}`), "/bin/python3", "x.py"); err == nil || !strings.Contains(err.Error(), "has no /bin/python3, which this command needs") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no image", func(t *testing.T) {
		s := with(`{}`)
		s.Docker.Set("image", "localhost/no-such-image:1")
		if _, _, err := run(t, s, "true"); err == nil || !strings.Contains(err.Error(), "the image localhost/no-such-image:1 cannot be pulled") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("build", func(t *testing.T) {
		for range 2 {
			if exit, out, err := run(t, with(`{"build": ["echo built > /made"]}`), "cat", "/made"); err != nil || exit.Code != 0 || !strings.HasSuffix(out, "built\n") {
				t.Errorf("got %+v, %v, %q", exit, err, out)
			}
		}
	})
	t.Run("options", func(t *testing.T) {
		if exit, out, err := run(t, with(`{"run_options": ["-u", "65532", "--hostname=here"]}`), "sh", "-c", "id -u; hostname"); err != nil || exit.Code != 0 || out != "65532\nhere\n" {
			t.Errorf("got %+v, %v, %q", exit, err, out)
		}
	})
	t.Run("reclaim", func(t *testing.T) {
		if out, err := exec.Command(program, "run", "-d", "--label", "zerodag.driver=engine-test-"+image, image, "sleep", "1000").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	t.Cleanup(func() {
		if n, err := d.Reclaim(context.Background()); err != nil || n != 1 {
			t.Errorf("found %d containers (error %v), want 1", n, err)
		}
	})
}
