package durability_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zerodag/integration/server"
)

// smallDisk mounts a separate disk in a folder.
func smallDisk(t *testing.T, folder, options string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: a disk cannot be made (only root can): %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", folder).Run() })
}

// full keeps filling a disk until free is called. During a call to pause, it fills nothing: a program can reuse space
// that it has freed on a full disk, and a database that is being opened truncates a file before it needs the space
// again.
func full(t *testing.T, folder string, inodes bool) (free func(), pause func(during func())) {
	t.Helper()
	var paused sync.Mutex
	fill := filepath.Join(folder, "fill")
	if err := os.MkdirAll(fill, 0o700); err != nil {
		t.Fatal(err)
	}
	stop, block := make(chan struct{}), make([]byte, 4096)
	if inodes {
		block = nil
	}
	var filling sync.WaitGroup
	take := func(i int) bool { return os.WriteFile(fmt.Sprint(fill, "/", i), block, 0o600) == nil }
	n := 0
	for ; take(n); n++ {
	}
	filling.Go(func() {
		for i := n; ; i++ {
			paused.Lock()
			take(i)
			paused.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	free = func() {
		close(stop)
		filling.Wait()
		if err := os.RemoveAll(fill); err != nil {
			t.Error(err)
		}
	}
	return free, func(during func()) {
		paused.Lock()
		defer paused.Unlock()
		during()
	}
}

// disturbed holds workflows in which something falls due while the disk is full, after 0.5 to 4 s.
var disturbed = map[string]string{
	"sla":     "sla:\n  duration: 00:00:02\n  +notice:\n    echo>: late\n+a:\n  sh>: sleep 8\n",
	"group":   "+g:\n  _retry:\n    limit: 1\n    interval: 2\n  +a:\n    sh>: test -f OUT/group || { touch OUT/group; exit 1; }\n",
	"retry":   "+a:\n  sh>: test -f OUT/retry || { touch OUT/retry; exit 1; }\n  _retry:\n    limit: 1\n    interval: 2\n",
	"wait":    "+a:\n  wait>: 2s\n+b:\n  sh>: echo over\n",
	"require": "+a:\n  require>: needed\n",
	"needed":  "+a:\n  sh>: sleep 2; echo needed\n",
	"result":  "+a:\n  sh>: sleep 2; echo result\n+b:\n  echo>: next\n",
	"long":    "+a:\n  sh>: \"for i in $(seq 1 60); do echo line $i; sleep 0.1; done\"\n",
	"short":   "+p:\n  _parallel: true\n  loop>: 10\n  _do:\n    sh>: sleep 1; echo short ${i}; touch OUT/short-${i}\n",
}

// shaken is a server with one attempt of each of these workflows.
type shaken struct {
	*server.Server
	t        *testing.T
	attempts map[string]string
	out      string // where commands record that they ran
}

func shake(t *testing.T, srv *server.Server) *shaken {
	t.Helper()
	srv.Start()
	s, files := &shaken{srv, t, map[string]string{}, t.TempDir()}, map[string]string{}
	for name, text := range disturbed {
		files[name+".dig"] = strings.ReplaceAll(text, "OUT", s.out)
	}
	if status, text, err := s.Call(http.MethodPut, "/api/projects?project=full&revision=1", "application/gzip", server.Pack(files)); err != nil || status != http.StatusOK {
		t.Fatal(status, string(text), err)
	}
	var list struct{ Workflows []struct{ ID, Name string } }
	s.Get("/api/workflows", &list)
	for _, w := range list.Workflows {
		if w.Name == "needed" {
			continue
		}
		status, text, err := s.Call(http.MethodPut, "/api/attempts", "application/json", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":"2024-01-01T00:00:00Z","params":{}}`, w.ID))
		var a attempt
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil || status != http.StatusOK {
			t.Fatal(status, string(text), err)
		}
		s.attempts[w.Name] = a.ID
	}
	return s
}

// health waits for a status of /api/health.
func (s *shaken) health(status int, word string) {
	s.t.Helper()
	got, text := 0, []byte(nil)
	for deadline := time.Now().Add(20 * time.Second); got != status && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got, text, _ = s.Call(http.MethodGet, "/api/health", "", nil)
	}
	if got != status || !strings.Contains(string(text), word) {
		s.t.Errorf("health is %d %s, want %d with %s", got, text, status, word)
	}
}

// end waits for the end of all attempts, which must succeed.
func (s *shaken) end(within time.Duration) {
	s.t.Helper()
	deadline := time.Now().Add(within)
	for name, id := range s.attempts {
		var a attempt
		for s.Get("/api/attempts/"+id, &a); !a.Done; s.Get("/api/attempts/"+id, &a) {
			if time.Now().After(deadline) {
				s.t.Fatalf("%s does not end within %v\n%s", name, within, s.Log())
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !a.Success {
			s.t.Errorf("%s failed\n%s", name, s.Log())
		}
	}
}

// text returns the text of an attempt's logs, each of which must be a complete gzip file.
func (s *shaken) text(name string) string {
	s.t.Helper()
	var list struct{ Files []struct{ FileName string } }
	s.Get("/api/logs/"+s.attempts[name]+"/files", &list)
	all := ""
	for _, f := range list.Files {
		_, content, err := s.Call(http.MethodGet, "/api/logs/"+s.attempts[name]+"/files/"+strings.ReplaceAll(f.FileName, "+", "%2B"), "", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			s.t.Errorf("%s: %v", f.FileName, err)
			continue
		}
		text, err := io.ReadAll(z)
		if err != nil {
			s.t.Errorf("%s: %v", f.FileName, err)
		}
		all += string(text)
	}
	return all
}

// TestFullDisk checks that work that falls due while the disk is full is done within seconds after space is freed, that
// a missed `sla:` is noticed, that no line of a log is missing or duplicated, and that the health endpoint and the
// server's log report the full disk; also on a disk without free inodes, and with a full temporary folder.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	program := server.Build(t)
	for _, how := range []string{"full", "no inodes", "temporary folder"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			srv := server.New(t, program)
			disk := srv.Data()
			if how == "temporary folder" {
				disk = t.TempDir()
				srv = server.New(t, program, "-X", "tmpdir="+disk)
			}
			smallDisk(t, disk, "size=12m,nr_inodes=1500")
			s := shake(t, srv)
			time.Sleep(500 * time.Millisecond)
			free, _ := full(t, disk, how == "no inodes")
			s.health(http.StatusServiceUnavailable, `"reason":"disk-full"`)
			time.Sleep(3500 * time.Millisecond)
			free()
			s.end(20 * time.Second)
			s.health(http.StatusOK, "ok")
			s.check(true)
		})
	}
}

// TestFullDiskAndKill checks that no run is lost when the server is killed and started while the disk is full. The runs
// that were cut off have separate logs, all of which are complete files. The log of a run that ended meanwhile was only
// in memory and is lost with the server, although there was space for its result.
func TestFullDiskAndKill(t *testing.T) {
	t.Parallel()
	srv := server.New(t, server.Build(t), "-X", "agent.max_crashes=0")
	smallDisk(t, srv.Data(), "size=12m")
	s := shake(t, srv)
	time.Sleep(500 * time.Millisecond)
	free, pause := full(t, srv.Data(), false)
	time.Sleep(500 * time.Millisecond)
	s.Kill()
	pause(s.Start)
	s.health(http.StatusServiceUnavailable, `"reason":"disk-full"`)
	time.Sleep(2 * time.Second)
	s.Kill()
	pause(s.Start)
	time.Sleep(time.Second)
	free()
	s.end(30 * time.Second)
	s.health(http.StatusOK, "ok")
	s.check(false)
}

// check checks which tasks ran and what was logged.
func (s *shaken) check(once bool) {
	s.t.Helper()
	if n := strings.Count(s.text("sla"), "echo>: late"); n < 1 || once && n > 1 {
		s.t.Errorf("the task of sla: logged %d times\n%s", n, s.Log())
	}
	long, short := s.text("long"), s.text("short")
	for i := 1; i <= 60; i++ {
		if n := strings.Count(long, fmt.Sprintf("\nline %d\n", i)); n < 1 || once && n > 1 {
			s.t.Errorf("line %d is there %d times\n%s", i, n, long)
		}
	}
	for i := range 10 {
		if _, err := os.Stat(fmt.Sprint(s.out, "/short-", i)); err != nil {
			s.t.Errorf("round %d has not run: %v", i, err)
		}
		if n := strings.Count(short, fmt.Sprintf("\nshort %d\n", i)); once && n != 1 {
			s.t.Errorf("the log of round %d is there %d times\n%s", i, n, short)
		}
	}
	if strings.Contains(long+short, "missing") {
		s.t.Errorf("something is missing, and there was memory for it:\n%s", long+short)
	}
}
