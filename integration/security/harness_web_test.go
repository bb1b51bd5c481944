package security

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// webProgram builds the binary once for all tests of this process.
var webProgram = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "zerodag-security-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "zerodag")
	out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build: %w: %s", err, out)
	}
	return program, err
})

// webServer is a running `zerodag server`.
type webServer struct {
	t      *testing.T
	folder string
	Addr   string // host:port
	Admin  string // of the administrators' listener; "" for none
	pid    int
}

// webServe starts a server and waits until it listens. wrap, unless nil, is what the program
// is started by, such as prlimit.
func webServe(t *testing.T, wrap []string, options ...string) *webServer {
	t.Helper()
	s := &webServer{t: t, folder: t.TempDir()}
	info := filepath.Join(s.folder, "runtime.json")
	command := append(append([]string{}, wrap...), webPath(t), "server", "-n", "0", "-o", filepath.Join(s.folder, "data"), "-X", "server.runtime-info.path="+info)
	cmd := exec.Command(command[0], append(command[1:], options...)...)
	log, err := os.Create(filepath.Join(s.folder, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), "DIGDAG_CONFIG_HOME="+s.folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	type place struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	var where struct {
		Local []place `json:"local_addresses"`
		Admin []place `json:"local_admin_addresses"`
	}
	webUntil(t, "the server listens", func() bool {
		text, err := os.ReadFile(info)
		return err == nil && json.Unmarshal(text, &where) == nil && len(where.Local) == 1
	})
	s.Addr = net.JoinHostPort(where.Local[0].Host, fmt.Sprint(where.Local[0].Port))
	if len(where.Admin) > 0 {
		s.Admin = net.JoinHostPort(where.Admin[0].Host, fmt.Sprint(where.Admin[0].Port))
	}
	return s
}

func webPath(t *testing.T) string {
	t.Helper()
	program, err := webProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func (s *webServer) port() string { _, port, _ := net.SplitHostPort(s.Addr); return port }

func (s *webServer) data(name ...string) string {
	return filepath.Join(append([]string{s.folder, "data"}, name...)...)
}

func (s *webServer) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
	return string(text)
}

// webUntil polls for what another process does.
func webUntil(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come that %s", what)
		}
	}
}

// webAnswer is what a server said.
type webAnswer struct {
	Status int
	Header http.Header
	Body   string
}

// object decodes a JSON answer.
func (a webAnswer) object(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return v
}

// call sends a request as a program would; headers are pairs. Host is a header like others.
func (s *webServer) call(method, path string, body []byte, headers ...string) webAnswer {
	s.t.Helper()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.Addr+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	answer, err := (&http.Client{Timeout: 60 * time.Second}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return webAnswer{answer.StatusCode, answer.Header, string(text)}
}

// raw sends text as it is, and reads one answer.
func (s *webServer) raw(text string) webAnswer {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return webAnswer{answer.StatusCode, answer.Header, string(body)}
}

// push pushes workflows by name as project "p", and returns the id of the project.
func (s *webServer) push(files map[string]string, headers ...string) string {
	s.t.Helper()
	a := s.call(http.MethodPut, "/api/projects?project=p&revision="+fmt.Sprint(time.Now().UnixNano()), webArchive(files), append(headers, "Content-Type", "application/gzip")...)
	if a.Status != http.StatusOK {
		s.t.Fatalf("push: %d %s", a.Status, a.Body)
	}
	return a.object(s.t)["id"].(string)
}

// start starts a workflow of project "p" and returns the attempt's id.
func (s *webServer) start(workflow, session string, headers ...string) string {
	s.t.Helper()
	w := s.call(http.MethodGet, "/api/workflow?project=p&name="+workflow, nil, headers...).object(s.t)
	a := s.call(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, w["id"], session), append(headers, "Content-Type", "application/json")...)
	if a.Status != http.StatusOK {
		s.t.Fatalf("start: %d %s", a.Status, a.Body)
	}
	return a.object(s.t)["id"].(string)
}

// ended waits for the end of an attempt and says whether it was a success.
func (s *webServer) ended(attempt string, headers ...string) bool {
	s.t.Helper()
	var row map[string]any
	webUntil(s.t, "attempt "+attempt+" ends", func() bool {
		row = s.call(http.MethodGet, "/api/attempts/"+attempt, nil, headers...).object(s.t)
		return row["done"] == true
	})
	return row["success"] == true
}

func webArchive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		_, _ = io.WriteString(w, text)
	}
	_ = w.Close() // into memory: cannot fail
	_ = z.Close()
	return b.Bytes()
}

// webStatus reads a line of /proc/PID/status, in kB.
func (s *webServer) memory(line string) int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for l := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			n := 0
			if _, err := fmt.Sscan(rest, &n); err == nil {
				return n
			}
		}
	}
	s.t.Fatalf("no %s in /proc/%d/status", line, s.pid)
	return 0
}

// webRequired fails where REQUIRE names what is missing, and skips elsewhere.
func webRequired(t *testing.T, name, what string) {
	t.Helper()
	if strings.Contains(os.Getenv("REQUIRE"), name) {
		t.Fatalf("%s is needed: %s", name, what)
	}
	t.Skipf("NOT RUN: %s: %s", name, what)
}

// webAnswers is a server of the test's own.
func webAnswers(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}
