package security

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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// exprBuild builds the program once for all tests.
var exprBuild = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "zerodag-security-expr-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(folder, "zerodag")
	if out, err := exec.Command("go", "build", "-o", program, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

// exprServer is a server on a folder of data.
type exprServer struct {
	t       *testing.T
	program string
	folder  string
	cmd     *exec.Cmd
	ended   chan struct{}
	url     string
	project int
}

func exprStart(t *testing.T) *exprServer {
	t.Helper()
	program, err := exprBuild()
	if err != nil {
		t.Fatal(err)
	}
	s := &exprServer{t: t, program: program, folder: t.TempDir()}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *exprServer) start() {
	s.t.Helper()
	info := filepath.Join(s.folder, "runtime.json")
	os.Remove(info)
	log, err := os.OpenFile(filepath.Join(s.folder, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.program, "server", "-n", "0", "-o", filepath.Join(s.folder, "data"), "-c", os.DevNull,
		"-X", "server.runtime-info.path="+info, "-X", "executor.attempt_max_run=10000")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { cmd.Wait(); close(ended) }(s.cmd, s.ended)
	exprUntil(s.t, time.Minute, "the server answers", func() bool {
		var where struct {
			Local []struct {
				Port int `json:"port"`
			} `json:"local_addresses"`
		}
		text, err := os.ReadFile(info)
		if err != nil || json.Unmarshal(text, &where) != nil || len(where.Local) != 1 {
			return false
		}
		s.url = "http://127.0.0.1:" + strconv.Itoa(where.Local[0].Port)
		return true
	})
}

func (s *exprServer) kill() {
	s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.ended
}

func (s *exprServer) log() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
	return string(text)
}

// exprUntil looks again and again whether something is so.
func exprUntil(t *testing.T, most time.Duration, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(most); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", most, what)
		}
	}
}

// call sends JSON, or an archive, and reads JSON.
func (s *exprServer) call(method, path string, body []byte, into any) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Header.Set("Content-Type", "application/json"); bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		r.Header.Set("Content-Type", "application/gzip")
	}
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, exprEnd(s.log()))
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
		}
	}
}

func exprEnd(text string) string { return text[max(0, len(text)-3000):] }

// push pushes workflows of a new project and returns their ids by name.
func (s *exprServer) push(files map[string]string) map[string]string {
	s.t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	for name, text := range files {
		archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644, Typeflag: tar.TypeReg})
		archive.Write([]byte(text))
	}
	archive.Close()
	zip.Close()
	s.project++
	var p struct{ ID string }
	s.call(http.MethodPut, fmt.Sprintf("/api/projects?project=p%d&revision=1", s.project), b.Bytes(), &p)
	var list struct{ Workflows []struct{ ID, Name string } }
	s.call(http.MethodGet, "/api/projects/"+p.ID+"/workflows", nil, &list)
	ids := map[string]string{}
	for _, w := range list.Workflows {
		ids[w.Name] = w.ID
	}
	return ids
}

type exprAttempt struct {
	ID                             string
	Done, Success, CancelRequested bool
}

func (s *exprServer) run(workflow string) exprAttempt {
	s.t.Helper()
	var a exprAttempt
	s.call(http.MethodPut, "/api/attempts", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, workflow,
		time.Unix(time.Now().UnixNano()%1e9, 0).UTC().Format(time.RFC3339)), &a)
	return a
}

// end waits for the end of an attempt and returns the messages of its failed tasks.
func (s *exprServer) end(a exprAttempt, most time.Duration) (exprAttempt, string) {
	s.t.Helper()
	exprUntil(s.t, most, "attempt "+a.ID+" ends", func() bool {
		s.call(http.MethodGet, "/api/attempts/"+a.ID, nil, &a)
		return a.Done
	})
	var list struct {
		Tasks []struct {
			State string
			Error struct{ Message string }
		}
	}
	s.call(http.MethodGet, "/api/attempts/"+a.ID+"/tasks", nil, &list)
	var said []string
	for _, t := range list.Tasks {
		if t.Error.Message != "" {
			said = append(said, t.Error.Message)
		}
	}
	return a, strings.Join(said, "\n")
}

// exprQuoted is a text as YAML reads it.
func exprQuoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text)
	return strings.TrimSpace(b.String())
}

// exprMemory is how much memory a process has, in bytes.
func exprMemory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// exprChildren are the evaluators that a process has.
func exprChildren(pid int) []int {
	var list []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, _ := os.ReadFile(name)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(pid) && strings.HasPrefix(string(line), "zerodag-evaluator") {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			list = append(list, child)
		}
	}
	slices.Sort(list)
	return list
}
