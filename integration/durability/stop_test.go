package durability_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the database that the test makes newer

	"zerodag/integration/server"
)

// running is a server with one attempt whose task writes "begun", waits for "go" and
// writes "done", all in a folder.
type running struct {
	*server.Server
	t      *testing.T
	folder string
	id     string
}

func run(t *testing.T, srv *server.Server) *running {
	t.Helper()
	srv.Start()
	r := &running{srv, t, t.TempDir(), ""}
	archive := server.Pack(map[string]string{"main.dig": fmt.Sprintf(`+wait:
  sh>: "cd %s; echo >> begun; until test -f go; do sleep 0.05; done; echo >> done"
+next:
  sh>: "echo >> %s/next"
`, r.folder, r.folder)})
	if status, text, err := srv.Call(http.MethodPut, "/api/projects?project=stop&revision=1", "application/gzip", archive); err != nil || status != http.StatusOK {
		t.Fatal(status, string(text), err)
	}
	var list struct{ Workflows []struct{ ID string } }
	srv.Get("/api/workflows", &list)
	body := fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2024-01-01T00:00:00Z","params":{}}`, list.Workflows[0].ID)
	status, text, err := srv.Call(http.MethodPut, "/api/attempts", "application/json", []byte(body))
	if err != nil || status != http.StatusOK {
		t.Fatal(status, string(text), err)
	}
	var a struct{ ID string }
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	r.id = a.ID
	r.await("begun")
	return r
}

// await waits until a task has written a file, and returns how many times it has.
func (r *running) await(name string) int {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(r.folder, name)); err == nil && len(text) > 0 {
			return len(text)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("no file %s\n%s", name, r.Log())
		}
	}
}

func (r *running) awaitLog(line string) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(r.Log(), line); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%q is not logged\n%s", line, r.Log())
		}
	}
}

func (r *running) signal() {
	r.t.Helper()
	if err := r.Process().Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) let() {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, "go"), nil, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// TestStop checks that a server that is asked to stop lets the running task end while it still answers requests, begins
// no other task, logs its steps in Digdag's order, and exits successfully, and that the attempt continues at the next
// start.
func TestStop(t *testing.T) {
	t.Parallel()
	r := run(t, server.New(t, server.Build(t)))
	r.signal()
	r.awaitLog("Waiting for completion of 1 running tasks...")
	if status, _, err := r.Call(http.MethodGet, "/api/version", "", nil); err != nil || status != http.StatusOK {
		t.Errorf("while a task runs: %d %v", status, err)
	}
	r.let()
	if err := r.Wait(); err != nil {
		t.Errorf("the end of the process: %v", err)
	}
	order := regexp.MustCompile(`(?s)Waiting for completion of 1 running tasks\.\.\..*Closing HTTP listening sockets.*Shutting down HTTP worker threads.*Shutting down system.*Shutdown completed`)
	if !order.MatchString(r.Log()) {
		t.Errorf("log:\n%s", r.Log())
	}
	if n := r.await("done"); n != 1 {
		t.Errorf("the task ended %d times", n)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "next")); err == nil {
		t.Error("another task was begun")
	}
	r.Start()
	r.await("next")
	if n := r.await("begun"); n != 1 {
		t.Errorf("the task was begun %d times", n)
	}
}

// TestStopTwice checks that a second signal cuts off the running task, and that the task runs again at the next start.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	r := run(t, server.New(t, server.Build(t)))
	r.signal()
	r.awaitLog("Waiting for completion of 1 running tasks...")
	r.signal()
	if err := r.Wait(); err != nil {
		t.Errorf("the end of the process: %v", err)
	}
	for _, line := range []string{"Interrupting running tasks", "Shutdown completed"} {
		if !strings.Contains(r.Log(), line) {
			t.Errorf("%q is not logged\n%s", line, r.Log())
		}
	}
	if err := os.Truncate(filepath.Join(r.folder, "begun"), 0); err != nil {
		t.Fatal(err)
	}
	r.Start()
	r.await("begun")
	r.let()
	r.await("next")
}

// TestOneServerPerFolder checks that a second server on a folder, and a server on data of a later release, fail with a
// clear message and leave the data unchanged.
func TestOneServerPerFolder(t *testing.T) {
	t.Parallel()
	program := server.Build(t)
	srv := server.New(t, program)
	srv.Start()
	refused := func(want string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, "server", "-n", "0", "-c", os.DevNull, "-o", srv.Data()).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 2 {
			t.Errorf("%v\n%swant %q in a line of its own", err, out, want)
		}
	}
	refused("another process has opened it")
	srv.Kill()
	db, err := sql.Open("sqlite", filepath.Join(srv.Data(), "zerodag.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO schema_migrations (version, oldest, name, applied_at) VALUES (9999, 9999, 'later', 0)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused("its schema has version 9999")
}
