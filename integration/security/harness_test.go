package security

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// build builds the program once for all tests, in a place where other users can also start it.
var build = sync.OnceValues(func() (program string, err error) {
	folder, err := os.MkdirTemp("", "zerodag-security-")
	if err != nil {
		return "", err
	}
	program = filepath.Join(folder, "zerodag")
	if err := os.Chmod(folder, 0o755); err != nil {
		return program, err
	}
	if out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		return program, fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

// built is set if there is a build to remove.
var built atomic.Bool

func TestMain(m *testing.M) {
	code := m.Run()
	if built.Load() {
		program, _ := build()
		os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

func programPath(t *testing.T) string {
	t.Helper()
	built.Store(true)
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// required fails a test if REQUIRE names the missing requirement, and otherwise skips it.
func required(t *testing.T, name, what string) {
	t.Helper()
	if strings.Contains(os.Getenv("REQUIRE"), name) {
		t.Fatalf("%s is needed: %s", name, what)
	}
	t.Skipf("NOT RUN: %s: %s", name, what)
}

// asRoot skips a test that needs root, and prints that.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		required(t, "root", "who runs the tests is not root")
	}
}

// until polls until another process has done something.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	within(t, 3*time.Minute, what, so)
}

// within is until with a different time limit.
func within(t *testing.T, most time.Duration, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}

// server is a `zerodag server` on a data folder, which may be restarted.
type server struct {
	t       *testing.T
	folder  string   // its data is below
	env     []string // in addition to those of the test
	before  string   // shell text before it starts, such as "umask 0"
	options []string
	as      *syscall.SysProcAttr // nil: the user who runs the test
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	Addr    string        // host:port
	Admin   string        // address of the administrators' listener; "" for none
	project int           // the number of projects pushed by pushAll
}

// sessions counts the times of sessions, each of which is used once.
var sessions atomic.Int64

// prepare makes a server without starting it.
func prepare(t *testing.T, options ...string) *server {
	t.Helper()
	s := &server{t: t, folder: t.TempDir(), options: options}
	t.Cleanup(s.end)
	return s
}

// serve starts a server and waits until it listens.
func serve(t *testing.T, options ...string) *server {
	t.Helper()
	s := prepare(t, options...)
	s.boot()
	return s
}

// boot starts the server and waits until it listens.
func (s *server) boot() {
	s.t.Helper()
	if err := s.tryBoot(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) tryBoot() error {
	s.t.Helper()
	info := filepath.Join(s.folder, "runtime.json")
	if err := os.Remove(info); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(filepath.Join(s.folder, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	args := append([]string{"-c", cmp.Or(s.before, "true") + `; exec "$@"`, "sh", programPath(s.t), "server", "-n", "0", "-o", s.data(),
		"-X", "server.runtime-info.path=" + info}, s.options...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, s.as
	cmd.Env = append(os.Environ(), append([]string{"ZERODAG_CONFIG_HOME=" + s.folder}, s.env...)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.cmd, s.ended = cmd, ended
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if s.listens(info) {
			return nil
		}
		if s.over() {
			return fmt.Errorf("the server ended:\n%s", s.log())
		}
	}
	return fmt.Errorf("the server does not start:\n%s", s.log())
}

// listens reads where the server listens.
func (s *server) listens(info string) bool {
	type place struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	var where struct {
		Local []place `json:"local_addresses"`
		Admin []place `json:"local_admin_addresses"`
	}
	text, err := os.ReadFile(info)
	if err != nil || json.Unmarshal(text, &where) != nil || len(where.Local) != 1 {
		return false
	}
	s.Addr = net.JoinHostPort(where.Local[0].Host, strconv.Itoa(where.Local[0].Port))
	for _, p := range where.Admin {
		s.Admin = net.JoinHostPort(p.Host, strconv.Itoa(p.Port))
	}
	return true
}

// over reports whether the process has ended.
func (s *server) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// kill ends the server as a crash would.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// stop ends the server gracefully.
func (s *server) stop() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	until(s.t, "the server ends when it is asked to", s.over)
}

// end stops the server and all its commands; a second signal ends them at once.
func (s *server) end() {
	for range 20 {
		if s.cmd == nil || s.over() {
			return
		}
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.kill()
}

func (s *server) port() string { _, port, _ := net.SplitHostPort(s.Addr); return port }

func (s *server) data(name ...string) string {
	return filepath.Join(append([]string{s.folder, "data"}, name...)...)
}

func (s *server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
	return string(text)
}

// memory reads a line of /proc/PID/status, in KiB: VmHWM is its peak, VmRSS its current memory.
func (s *server) memory(line string) int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid()))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), line+":")
	n := 0
	if _, err := fmt.Sscan(rest, &n); err != nil {
		s.t.Fatalf("no %s in /proc/%d/status: %v", line, s.pid(), err)
	}
	return n
}

// archive returns a project archive of files by name.
func archive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		_, _ = io.WriteString(w, text)
	}
	_ = w.Close() // into memory: cannot fail
	_ = z.Close()
	return b.Bytes()
}

// ending returns the end of a long string.
func ending(text string) string { return text[max(0, len(text)-3000):] }
