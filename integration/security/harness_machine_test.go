// Package security attacks the real program as a red team did: each test is named after what
// was found, and fails when that is possible again. It needs nothing but the binary that it
// builds; what needs root says so when it is not.
package security

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// machineSessions are the times of sessions, each of which there is once.
var machineSessions atomic.Int64

// machineBuild builds the program once for all tests.
var machineBuild = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "zerodag-security-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(folder, 0o755); err != nil { // other users start it, too
		return "", err
	}
	program := filepath.Join(folder, "zerodag")
	out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

func machineProgram(t *testing.T) string {
	t.Helper()
	program, err := machineBuild()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// machineRoot skips, out loud, what only root can show.
func machineRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		if strings.Contains(os.Getenv("REQUIRE"), "root") {
			t.Fatal("this needs root, and REQUIRE names it")
		}
		t.Skip("NOT RUN: this needs root")
	}
}

// machineServer is a server on a folder of data.
type machineServer struct {
	t       *testing.T
	folder  string   // its data is below
	env     []string // besides PATH and the like
	before  string   // shell text before it starts, such as "umask 0"
	options []string
	as      *syscall.SysProcAttr // nil: who runs the test
	cmd     *exec.Cmd
	url     string
}

func newMachineServer(t *testing.T, options ...string) *machineServer {
	t.Helper()
	s := &machineServer{t: t, folder: t.TempDir(), options: options}
	t.Cleanup(s.end)
	return s
}

func (s *machineServer) data() string { return filepath.Join(s.folder, "data") }

func (s *machineServer) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "out"))
	return string(text)
}

// start starts it and waits until it listens.
func (s *machineServer) start() {
	s.t.Helper()
	if err := s.tryStart(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *machineServer) tryStart() error {
	s.t.Helper()
	info := filepath.Join(s.folder, "runtime.json")
	os.Remove(info)
	out, err := os.OpenFile(filepath.Join(s.folder, "out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	args := append([]string{"-c", cmp.Or(s.before, "true") + `; exec "$@"`, "sh", machineProgram(s.t), "server", "-n", "0", "-o", s.data(),
		"-X", "server.runtime-info.path=" + info}, s.options...)
	s.cmd = exec.Command("/bin/sh", args...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = out, out, s.as
	s.cmd.Env = append(os.Environ(), append([]string{"DIGDAG_CONFIG_HOME=" + s.folder}, s.env...)...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	cmd := s.cmd
	go func() { cmd.Wait(); close(ended) }()
	var where struct {
		Local []struct {
			Host string `json:"host"`
			Port int    `json:"port"`
		} `json:"local_addresses"`
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(info)
		if err == nil && json.Unmarshal(text, &where) == nil && len(where.Local) > 0 {
			s.url = fmt.Sprintf("http://%s:%d", where.Local[0].Host, where.Local[0].Port)
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("the server ended:\n%s", s.log())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not start:\n%s", s.log())
		}
	}
}

// kill ends it as a crash does.
func (s *machineServer) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Signal(syscall.SIGKILL)
		machineUntil(s.t, "the server is gone", func() bool { return syscall.Kill(s.cmd.Process.Pid, 0) != nil })
		s.cmd = nil
	}
}

// end ends it with all its commands.
func (s *machineServer) end() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	for range 20 { // the second one cuts commands off
		s.cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(50 * time.Millisecond)
	}
	s.kill()
}

// stop ends it in order.
func (s *machineServer) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	machineUntil(s.t, "the server ends when it is asked to", func() bool { return syscall.Kill(s.cmd.Process.Pid, 0) != nil })
	s.cmd = nil
}

func machineUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come true within three minutes that %s", what)
		}
	}
}

func (s *machineServer) call(method, path, kind string, body []byte, into any) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log())
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	if into != nil && a.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return a.StatusCode, string(text)
}

// machineArchive is a project archive of files by their names.
func machineArchive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		io.WriteString(w, text)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// push pushes a project of the workflow main.
func (s *machineServer) push(project, workflow string) (status int, answer string) {
	s.t.Helper()
	return s.pushArchive(project, machineArchive(map[string]string{"main.dig": workflow}))
}

func (s *machineServer) pushArchive(project string, archive []byte) (status int, answer string) {
	s.t.Helper()
	return s.call("PUT", fmt.Sprintf("/api/projects?project=%s&revision=r%d", project, time.Now().UnixNano()), "application/gzip", archive, nil)
}

// begin pushes a workflow and starts it.
func (s *machineServer) begin(project, workflow string) (attempt string) {
	s.t.Helper()
	if status, answer := s.push(project, workflow); status != http.StatusOK {
		s.t.Fatalf("push: %d %s", status, answer)
	}
	return s.startLatest(project)
}

// startLatest starts the workflow main of a project.
func (s *machineServer) startLatest(project string) (attempt string) {
	s.t.Helper()
	var found struct {
		Workflows []struct{ ID string }
	}
	var p struct {
		Projects []struct{ ID string }
	}
	s.call("GET", "/api/projects?name="+project, "", nil, &p)
	s.call("GET", "/api/projects/"+p.Projects[0].ID+"/workflows?name=main", "", nil, &found)
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":%q,"params":{}}`, found.Workflows[0].ID, time.Unix(machineSessions.Add(1), 0).UTC().Format(time.RFC3339))
	var a struct{ ID string }
	if status, text := s.call("PUT", "/api/attempts", "application/json", []byte(body), &a); status != http.StatusOK {
		s.t.Fatalf("start: %d %s", status, text)
	}
	return a.ID
}

// wait waits for the end of an attempt and says whether it succeeded.
func (s *machineServer) wait(attempt string) (success bool) {
	s.t.Helper()
	var a struct{ Done, Success bool }
	machineUntil(s.t, "attempt "+attempt+" is done", func() bool {
		s.call("GET", "/api/attempts/"+attempt, "", nil, &a)
		return a.Done
	})
	return a.Success
}

// logs is what the tasks of an attempt logged.
func (s *machineServer) logs(attempt string) string {
	s.t.Helper()
	var list struct{ Files []struct{ FileName string } }
	s.call("GET", "/api/logs/"+attempt+"/files", "", nil, &list)
	var all strings.Builder
	for _, f := range list.Files {
		_, text := s.call("GET", "/api/logs/"+attempt+"/files/"+f.FileName, "", nil, nil)
		z, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			s.t.Fatal(err)
		}
		io.Copy(&all, z)
	}
	return all.String()
}

// tasks is the answer about the tasks of an attempt, where errors are.
func (s *machineServer) tasks(attempt string) string {
	_, text := s.call("GET", "/api/attempts/"+attempt+"/tasks", "", nil, nil)
	return text
}

// run starts a workflow and waits for it.
func (s *machineServer) run(project, workflow string) (success bool, log string) {
	s.t.Helper()
	a := s.begin(project, workflow)
	success = s.wait(a)
	return success, s.logs(a) + s.tasks(a)
}

// machineShell is a workflow of one script.
func machineShell(script string) string {
	return "+a:\n  sh>: " + strconv.Quote(strings.ReplaceAll(script, "$$", "$$$$")) + "\n" // $$ is a $ in a workflow
}

// machineAlive says whether a process is there and not only waits to be taken away.
func machineAlive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z'
}
