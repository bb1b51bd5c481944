// Package server builds the program and runs `zerodag server` on a separate folder, for the black-box tests and the
// benchmarks of integration: started, killed, stopped, started again.
//
// It must never access the server's internals: it uses the command line, the REST API and signals, like a user.
package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a process of `zerodag server` on a data folder; it can be killed and restarted.
type Server struct {
	t       testing.TB
	program string
	folder  string
	options []string
	keeps   []string // options for the location of the data
	group   *group   // nil: it is one process

	mu  sync.Mutex
	cmd *exec.Cmd
	url string
}

// Main runs the tests of a package that share one build of the program, whose path it writes to program before:
// TestMain must exit with the code that it returns.
func Main(m *testing.M, program *string) int {
	folder, err := os.MkdirTemp("", "zerodag-")
	if err == nil {
		defer os.RemoveAll(folder)
		*program = filepath.Join(folder, "zerodag")
		err = build(*program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// New makes a server without starting it. If the environment names a database (see Variable), it consists of two
// processes that share a schema in it, behind a proxy that alternates between them.
func New(t testing.TB, program string, options ...string) *Server {
	s := &Server{t: t, program: program, folder: t.TempDir(), options: options}
	s.keeps = []string{"-o", filepath.Join(s.folder, "data")}
	t.Cleanup(func() { s.Kill() })
	if place, ok := Found(); ok {
		s.group = newGroup(t, program, append(place.Options(), options...))
	}
	return s
}

// Start starts the process, or in a group the stopped ones, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.group != nil {
		s.group.start()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.url = s.group.proxy.URL
		return
	}
	info := filepath.Join(s.folder, "runtime.json")
	os.Remove(info)
	log, err := os.OpenFile(filepath.Join(s.folder, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.program, slices.Concat([]string{"server", "-n", "0", "-X", "server.runtime-info.path=" + info}, s.keeps, s.options)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "ZERODAG_CONFIG_HOME="+s.folder)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		text, err := os.ReadFile(info)
		var where struct {
			Local []struct {
				Host string `json:"host"`
				Port int    `json:"port"`
			} `json:"local_addresses"`
		}
		if err == nil && json.Unmarshal(text, &where) == nil && len(where.Local) == 1 {
			s.mu.Lock()
			s.cmd, s.url = cmd, fmt.Sprintf("http://%s:%d", where.Local[0].Host, where.Local[0].Port)
			s.mu.Unlock()
			return
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			s.t.Fatalf("the server did not start:\n%s", s.Log())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Log returns the server's log.
func (s *Server) Log() string {
	if s.group != nil {
		return s.group.log()
	}
	text, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
	return string(text)
}

// Kill ends the process at once; in a group, it ends one process, a different one each time.
func (s *Server) Kill() {
	if s.group != nil {
		s.group.kill()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGKILL)
		s.cmd.Wait()
		s.cmd = nil
	}
}

// Wait waits for the end of a process that was asked to stop.
func (s *Server) Wait() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

// Data returns the folder of the server's data.
func (s *Server) Data() string { return filepath.Join(s.folder, "data") }

// URL returns the address of the server.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Process returns the running server.
func (s *Server) Process() *os.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process
}

// Call sends a request once. An error means that there was no response: the request may or may not have been carried
// out.
func (s *Server) Call(method, path, contentType string, body []byte) (int, []byte, error) {
	s.mu.Lock()
	url := s.url
	s.mu.Unlock()
	r, err := http.NewRequest(method, url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// client reuses no connections, because a killed server leaves broken ones.
var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Get reads JSON, and retries the request until there is a response.
func (s *Server) Get(path string, into any) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		status, text, err := s.Call(http.MethodGet, path, "", nil)
		if err == nil && status == http.StatusOK {
			if err := json.Unmarshal(text, into); err != nil {
				s.t.Fatalf("GET %s: %v\n%s", path, err, text)
			}
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("GET %s: %d %v\n%s", path, status, err, text)
		}
	}
}

// Pack packs files into an archive for a push. Files that begin with #! are executable.
func Pack(files map[string]string) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	for name, text := range files { // a buffer never fails
		mode := int64(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: mode, Typeflag: tar.TypeReg})
		archive.Write([]byte(text))
	}
	archive.Close()
	zip.Close()
	return b.Bytes()
}
