package packages_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// imageConfig holds the parts of an image's configuration that decide how an engine runs it.
type imageConfig struct {
	Config struct {
		User                 string
		Env, Cmd, Entrypoint []string
		WorkingDir           string
		Healthcheck          struct{ Test []string }
	} `json:"config"`
}

type reference struct {
	Digest   string `json:"digest"`
	Platform struct {
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

// image is an OCI layout in an archive, by the names of its files.
type image map[string][]byte

func (i image) blob(d reference) []byte {
	return i["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
}

// openImage reads an archive of an image.
func openImage(t *testing.T, name string) image {
	t.Helper()
	i := image{}
	walk(t, tar.NewReader(strings.NewReader(read(t, name))), func(h *tar.Header, content []byte) { i[h.Name] = content })
	return i
}

func walk(t *testing.T, r *tar.Reader, visit func(h *tar.Header, content []byte)) {
	t.Helper()
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		content, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		visit(h, content)
	}
}

// unpack writes the root folder of the image for this machine, as an engine does, and returns its configuration.
func (i image) unpack(t *testing.T, root string) (config imageConfig) {
	t.Helper()
	var list struct{ Manifests []reference }
	decode := func(text []byte, to any) {
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatalf("%v: %.200s", err, text)
		}
	}
	decode(i["index.json"], &list)
	decode(i.blob(list.Manifests[0]), &list)
	var manifest struct {
		Config reference
		Layers []reference
	}
	for _, d := range list.Manifests {
		if d.Platform.Architecture == runtime.GOARCH {
			decode(i.blob(d), &manifest)
		}
	}
	decode(i.blob(manifest.Config), &config)
	for _, layer := range manifest.Layers {
		unzipped, err := gzip.NewReader(bytes.NewReader(i.blob(layer)))
		if err != nil {
			t.Fatal(err)
		}
		walk(t, tar.NewReader(unzipped), func(h *tar.Header, content []byte) {
			path := filepath.Join(root, filepath.FromSlash(h.Name))
			if h.Typeflag == tar.TypeDir {
				err = os.MkdirAll(path, 0o755)
			} else {
				err = os.WriteFile(path, content, 0o600)
			}
			if err := errors.Join(err, os.Chown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode())); err != nil {
				t.Fatal(err)
			}
		})
	}
	return config
}

// runsImage starts the server of an image in the image's own root folder as its user, runs a workflow, and carries out
// its health check before and after the server has ended. No container engine is needed for that.
func runsImage(t *testing.T, archive string) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root changes the root folder of a process")
	}
	s := &system{t: t, root: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	config := openImage(t, archive).unpack(t, s.root).Config
	if config.User != "65532" || len(config.Healthcheck.Test) < 2 || config.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("its configuration is %+v", config)
	}
	proc := s.path("/proc") // every engine has it, and the server starts its evaluators from there
	if err := errors.Join(os.Mkdir(proc, 0o755), syscall.Mount("proc", proc, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC|syscall.MS_RDONLY, "")); err != nil {
		t.Skipf("NOT TESTED: this machine does not let root mount /proc: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(proc, syscall.MNT_DETACH) })
	inside := func(command ...string) (*exec.Cmd, *bytes.Buffer) {
		var said bytes.Buffer
		c := exec.Command(command[0], command[1:]...)
		c.Dir, c.Env, c.Stdout, c.Stderr = config.WorkingDir, config.Env, &said, &said
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return c, &said
	}
	command := append(append([]string{}, config.Entrypoint...), config.Cmd...)
	const info = "/var/lib/zerodag/runtime.json"
	server, said := inside(append(command, "-n", "0", "-X", "server.authenticator.type=token", "-X", "server.runtime-info.path="+info)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() { _ = server.Process.Kill() }) // before the folder is removed
	s.url = s.listens(s.path(info), ended, said)
	healthy := func() error {
		check, _ := inside(append(append([]string{}, config.Healthcheck.Test[1:]...), "-e", s.url)...)
		return check.Run()
	}
	if err := healthy(); err != nil {
		t.Errorf("its health check says of a server that runs: %v", err)
	}
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "sum.dig"), []byte("+a:\n  echo>: the sum is ${1 + 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.zerodag("push", "sums", "--project", project)
	s.zerodag("start", "sums", "sum", "--session", "2024-03-01", "--wait")
	if log := s.zerodag("log", "1"); !strings.Contains(log, "the sum is 2") {
		t.Errorf("its server does not run a workflow:\n%s", log)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v:\n%s", err, said)
	}
	if err := healthy(); err == nil {
		t.Error("its health check accepts a server that has ended")
	}
}
