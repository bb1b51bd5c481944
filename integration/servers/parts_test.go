package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/server"
)

// place returns a new schema in a new database.
func place(t *testing.T) server.Place {
	t.Helper()
	_, variables := database(t)
	name, value, _ := strings.Cut(variables[len(variables)-1], "=")
	t.Setenv(name, value)
	p, ok := server.Found()
	if !ok {
		t.Fatal("the environment names no database")
	}
	return p
}

// begin pushes a project and returns a function that starts an attempt of its workflow "main" and returns the attempt's
// ID.
func begin(t *testing.T, s *server.Server, files map[string]string) (start func(s *server.Server) string) {
	t.Helper()
	must(t, s, http.MethodPut, "/api/projects?project=p&revision=1", "application/gzip", server.Pack(files))
	var list struct{ Workflows []struct{ ID, Name string } }
	s.Get("/api/projects/1/workflows?name=main", &list)
	session := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	started := 0
	return func(s *server.Server) string {
		t.Helper()
		session = session.Add(time.Hour)
		started++
		must(t, s, http.MethodPut, "/api/attempts", "application/json", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":%q,"params":{}}`, list.Workflows[0].ID, session.Format(time.RFC3339)))
		return fmt.Sprint(started)
	}
}

// wantSuccess waits for the end of an attempt.
func wantSuccess(t *testing.T, s *server.Server, attempt string) {
	t.Helper()
	var a struct{ Done, Success bool }
	for begin := time.Now(); !a.Done; time.Sleep(50 * time.Millisecond) {
		s.Get("/api/attempts/"+attempt, &a)
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("attempt %s does not end:\n%s", attempt, s.Log())
		}
	}
	if !a.Success {
		t.Errorf("attempt %s has failed:\n%s", attempt, s.Log())
	}
}

// TestTaskTypes checks that servers run tasks of the operators that `agent.task-types` names and leave the rest to
// others, even if tasks follow one another, if a task is retried, and if the only server that runs a task is killed
// during it; and that each task otherwise runs once.
func TestTaskTypes(t *testing.T) {
	in := place(t)
	program := server.Build(t)
	shell := in.Join(t, program, "-X", "agent.task-types=sh")
	python := in.Join(t, program, "-X", "agent.task-types=py, ssh")
	shell.Start()
	python.Start()
	out := t.TempDir()
	note := func(task string) string { return fmt.Sprintf("sh>: pwd >> %s/%s", out, task) }
	start := begin(t, shell, map[string]string{
		"note.py": fmt.Sprintf("import os\ndef there(task):\n    open('%s/' + task, 'a').write(os.getcwd() + '\\n')\n", out),
		"main.dig": "+sh1:\n  " + note("sh1") + "\n+py1:\n  py>: note.there\n  task: py1\n+echo:\n  echo>: x\n+py2:\n  py>: note.there\n  task: py2\n" +
			"+loop:\n  loop>: 4\n  _parallel: true\n  _do:\n    +sh2:\n      " + note("sh2") + "\n    +py3:\n      py>: note.there\n      task: py3\n" +
			"+again:\n  _retry: 1\n  sh>: pwd >> " + out + "/again; test $(wc -l < " + out + "/again) -gt 1\n" +
			"+killed:\n  sh>: pwd >> " + out + "/killed; if [ $(wc -l < " + out + "/killed) = 1 ]; then sleep 600; fi\n+py4:\n  py>: note.there\n  task: py4\n",
	})
	a := start(python)
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(out, "killed")); err == nil {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the task does not begin:\n%s\n%s", shell.Log(), python.Log())
		}
	}
	shell.Kill()
	shell.Start()
	wantSuccess(t, python, a)
	for task, runs := range map[string]int{"sh1": 1, "sh2": 4, "again": 2, "killed": 2, "py1": 1, "py2": 1, "py3": 4, "py4": 1} {
		text, _ := os.ReadFile(filepath.Join(out, task))
		lines := strings.Fields(string(text))
		if len(lines) != runs {
			t.Errorf("task %s ran %d times, want %d", task, len(lines), runs)
		}
		of := shell
		if strings.HasPrefix(task, "py") {
			of = python
		}
		for _, at := range lines {
			if !strings.HasPrefix(at, of.Data()) {
				t.Errorf("task %s ran in %s, want below %s", task, at, of.Data())
			}
		}
	}
	if t.Failed() {
		t.Log(shell.Log(), python.Log())
	}
}

// nextMigration is the migration of a later release, which changes tables that servers of this release use.
const nextMigration = "ALTER TABLE projects ADD COLUMN motto bytea; UPDATE projects SET motto = name;\n" +
	"ALTER TABLE session_attempts ADD COLUMN motto bytea NOT NULL DEFAULT 'none'; CREATE INDEX attempts_by_motto ON session_attempts (motto);\n"

// buildNext builds a later release: this program with one more migration.
func buildNext(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	migrations, err := filepath.Abs("../../internal/postgres/migrations")
	if err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(folder, "planted.sql")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(migrations, "0002_planted.sql"): planted}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(planted, []byte(nextMigration), 0o600), os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(folder, "next")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(folder, "overlay.json"), "-o", next, "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		t.Fatalf("build the next release: %v\n%s", err, text)
	}
	return next
}

// TestRollingUpgrade checks that servers can be replaced by servers of a later release one after the other under load,
// while the first new server migrates the database that the others are using, and then by servers of this release again,
// which do not know the new schema: all attempts succeed, and each task runs once.
func TestRollingUpgrade(t *testing.T) {
	in := place(t)
	program, next := server.Build(t), buildNext(t)
	servers := []*server.Server{in.Join(t, program), in.Join(t, program)}
	for _, s := range servers {
		s.Start()
	}
	out := t.TempDir()
	start := begin(t, servers[0], map[string]string{
		"main.dig": "+a:\n  sh>: echo a >> " + out + "/${session_unixtime}; sleep 0.3\n+retry:\n  _retry: 1\n  if>: ${Math.random() < 2}\n  _do:\n    +x:\n      sh>: echo x >> " + out + "/${session_unixtime}\n" +
			"+side:\n  loop>: 3\n  _parallel: true\n  _do:\n    +y:\n      sh>: sleep 0.2; echo y$i >> " + out + "/${session_unixtime}\n+wait:\n  wait>: 1s\n+z:\n  call>: last\n",
		"last.dig": "+end:\n  sh>: echo z >> " + out + "/${session_unixtime}\n",
	})
	const rounds = 3 // before, between and after the changes
	var attempts []string
	load := func(of *server.Server) {
		for range rounds {
			attempts = append(attempts, start(of))
		}
	}
	load(servers[1])
	for i, s := range slices.Concat(servers, servers) {
		if err := s.Process().Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("server %d ended with %v:\n%s", i, err, s.Log())
		}
		other := servers[1-i%2]
		load(other)
		s.Replace([]string{next, program}[i/2])
		s.Start()
		load(other)
		load(s)
	}
	for _, a := range attempts {
		wantSuccess(t, servers[0], a)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != len(attempts) {
		t.Errorf("%d attempts of %d ran: %v", len(files), len(attempts), err)
	}
	for _, f := range files {
		text, _ := os.ReadFile(filepath.Join(out, f.Name()))
		for _, line := range []string{"a", "x", "z"} {
			if n := strings.Count(string(text), line+"\n"); n != 1 {
				t.Errorf("task %s of %s ran %d times", line, f.Name(), n)
			}
		}
		if n := strings.Count(string(text), "y"); n != 3 {
			t.Errorf("the tasks of the loop of %s ran %d times, want 3", f.Name(), n)
		}
	}
	if t.Failed() {
		t.Log(servers[0].Log(), servers[1].Log())
	}
}
