package servers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
)

// TestOutages checks that no task runs twice because of a database outage that is longer than a lease, whether the
// database has ended or hangs, as long as no server dies: results of commands that ended meanwhile are kept, and the
// tasks after them run once.
func TestOutages(t *testing.T) {
	s, variables := database(t)
	name, value, _ := strings.Cut(variables[len(variables)-1], "=")
	t.Setenv(name, value)
	program := server.Build(t)
	for what, away := range map[string]func(){
		"ended": func() {
			s.Stop(t)
			time.Sleep(36 * time.Second)
			s.Resume(t)
		},
		"stands still": func() {
			thaw := s.Freeze(t)
			time.Sleep(45 * time.Second)
			thaw()
		},
	} {
		t.Run(what, func(t *testing.T) {
			srv := server.New(t, program)
			srv.Start()
			out := t.TempDir()
			const side = 8
			text := fmt.Sprintf("_parallel: true\n+l:\n  loop>: %d\n  _parallel: true\n  _do:\n    +x:\n      sh>: sleep 10; echo x >> %[2]s/x${i}\n", side, out)
			for _, task := range []string{"y", "yy", "yyy"} {
				text += fmt.Sprintf("    +%[1]s:\n      sh>: echo %[1]s >> %[2]s/%[1]s${i}\n", task, out)
			}
			must(t, srv, http.MethodPut, "/api/projects?project=p&revision=1", "application/gzip", server.Pack(map[string]string{"main.dig": text}))
			var list struct{ Workflows []struct{ ID string } }
			srv.Get("/api/projects/1/workflows", &list)
			must(t, srv, http.MethodPut, "/api/attempts", "application/json", []byte(fmt.Sprintf(`{"workflowId":%q,"sessionTime":"2026-01-01T00:00:00Z","params":{}}`, list.Workflows[0].ID)))
			time.Sleep(3 * time.Second) // so that the commands are running
			away()
			var a struct{ Done, Success bool }
			for begin := time.Now(); !a.Done; time.Sleep(100 * time.Millisecond) {
				srv.Get("/api/attempts/1", &a)
				if time.Since(begin) > 2*time.Minute {
					t.Fatalf("the attempt does not end:\n%s", srv.Log())
				}
			}
			if !a.Success {
				t.Error("the attempt has failed")
			}
			for i := range side {
				for _, task := range []string{"x", "y", "yy", "yyy"} {
					lines, _ := os.ReadFile(filepath.Join(out, fmt.Sprint(task, i)))
					if n := strings.Count(string(lines), "\n"); n != 1 {
						t.Errorf("task %s of %d ran %d times", task, i, n)
					}
				}
			}
			if t.Failed() {
				t.Log(srv.Log())
			}
		})
	}
}

func must(t *testing.T, s *server.Server, method, path, contentType string, body []byte) {
	t.Helper()
	if status, text, err := s.Call(method, path, contentType, body); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
}
