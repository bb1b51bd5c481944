package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag"
)

// project writes a project with one operator.
func project(t *testing.T, workflow, operator string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "operators"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.dig": workflow, "operators/mine": operator} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func open(t *testing.T, data string) *zerodag.Engine {
	t.Helper()
	e, err := zerodag.Open(data, zerodag.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func begin(t *testing.T, e *zerodag.Engine, folder, workflow string, params map[string]any) int64 {
	t.Helper()
	if err := e.Push(t.Context(), folder, "p", "r"); err != nil {
		t.Fatal(err)
	}
	id, err := e.Start(t.Context(), zerodag.Start{Project: "p", Workflow: workflow, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// holds waits until a file contains a string.
func holds(t *testing.T, file, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, err := os.ReadFile(file); err == nil && strings.Contains(string(got), text) {
			return
		}
	}
	t.Fatalf("%s never held %q", file, text)
}

// TestPluginPollsOverARestart proves that the state of a project's operator survives the end of the program, so that it
// starts its job only once.
func TestPluginPollsOverARestart(t *testing.T) {
	t.Parallel()
	data, diary, gate := t.TempDir(), filepath.Join(t.TempDir(), "diary"), filepath.Join(t.TempDir(), "gate")
	folder := project(t, "+a:\n  mine>: ${diary}\n  gate: ${gate}\n+b:\n  if>: ${done != 'yes'}\n  _do:\n    fail>: it has ${done}\n", `#!/bin/sh
request=$(cat)
value() { printf '%s' "$request" | sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }
case $request in
*'"state":{}'*) echo start >>"$(value command)" ;;
*) echo poll >>"$(value command)" ;;
esac
if [ -e "$(value gate)" ]; then
	echo '{"store": {"done": "yes"}}' >"$ZERODAG_RESULT"
else
	echo '{"poll": {"after": 1, "state": {"id": "job"}}}' >"$ZERODAG_RESULT"
fi
`)
	e := open(t, data)
	id := begin(t, e, folder, "main", map[string]any{"diary": diary, "gate": gate})
	holds(t, diary, "start")
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e = open(t, data)
	defer e.Close(context.Background())
	if err := e.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(diary)
	if err != nil || strings.Count(string(text), "start") != 1 || !strings.HasSuffix(string(text), "poll\n") {
		t.Errorf("the diary is %q, %v; want one start and then polls", text, err)
	}
}

// ends waits until a process is gone.
func ends(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Fatalf("process %d outlives its killed attempt", pid)
}

// TestPluginIsKilled proves that a kill ends a project's operator while it runs, and that an operator that requested it
// is notified while it waits for its next run.
func TestPluginIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ operator, until, want string }{
		"runs": {"sleep 1000 &\necho $! >>\"$diary\"\nwait\n", "\n", ""},
		"waits": {`echo "$action" >>"$diary"` + "\n" + `[ "$action" = cancel ] || echo '{"poll": {"after": 600, "cancel": true}}' >"$ZERODAG_RESULT"` + "\n",
			"run\n", "run\ncancel\n"},
		"waits unasked": {`echo "$action" >>"$diary"` + "\n" + `echo '{"poll": {"after": 600}}' >"$ZERODAG_RESULT"` + "\n", "run\n", "run\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diary := filepath.Join(t.TempDir(), "diary")
			const head = "#!/bin/sh\naction=$(sed -E 's/.*\"action\":\"([a-z]*)\".*/\\1/')\n"
			folder := project(t, "+a:\n  mine>: x\n  _env: {diary: \"${diary}\"}\n", head+c.operator)
			e := open(t, "")
			defer e.Close(context.Background())
			id := begin(t, e, folder, "main", map[string]any{"diary": diary})
			holds(t, diary, c.until)
			if c.want != "" {
				untilWaiting(t, e, id)
			}
			answer := httptest.NewRecorder()
			e.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, fmt.Sprintf("/api/attempts/%d/kill", id), nil))
			if answer.Code/100 != 2 {
				t.Fatalf("kill: %d %s", answer.Code, answer.Body)
			}
			var failed *zerodag.Failure
			if err := e.Wait(t.Context(), id); !errors.As(err, &failed) || !failed.Killed {
				t.Errorf("got %v, want a killed attempt", err)
			}
			text, err := os.ReadFile(diary)
			if pid, e := strconv.Atoi(strings.TrimSpace(string(text))); e == nil {
				ends(t, pid)
			} else if err != nil || string(text) != c.want {
				t.Errorf("the diary is %q, %v; want %q", text, err, c.want)
			}
		})
	}
}

// untilWaiting waits until a task of an attempt waits for its next poll: a kill that comes while
// the program still runs only ends it.
func untilWaiting(t *testing.T, e *zerodag.Engine, id int64) {
	t.Helper()
	for range 1000 {
		answer := httptest.NewRecorder()
		e.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/api/attempts/%d/tasks", id), nil))
		if strings.Contains(answer.Body.String(), "retry_waiting") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no task waits")
}

// TestPluginFailsLikeAnyTask checks which errors a user sees if a project with a plugin has mistakes.
func TestPluginFailsLikeAnyTask(t *testing.T) {
	t.Parallel()
	folder := project(t, "+a:\n  mine>: x\n", "#!/bin/sh\necho '{\"error\": {\"message\": \"no such table\"}}' >\"$ZERODAG_RESULT\"\n")
	e := open(t, "")
	defer e.Close(context.Background())
	for mode, want := range map[os.FileMode]string{0o755: "no such table", 0o644: "operators/mine is not executable"} {
		if err := os.Chmod(filepath.Join(folder, "operators/mine"), mode); err != nil {
			t.Fatal(err)
		}
		if err := e.Push(t.Context(), folder, "p", want); err != nil {
			t.Fatal(err)
		}
		id, err := e.Start(t.Context(), zerodag.Start{Project: "p", Workflow: "main", Retry: want[:2]})
		if err != nil {
			t.Fatal(err)
		}
		var failed *zerodag.Failure
		if err := e.Wait(t.Context(), id); !errors.As(err, &failed) || !strings.Contains(failed.Tasks["+main+a"], want) {
			t.Errorf("mode %v: got %v, want %q", mode, err, want)
		}
	}
}

// TestExamplePlugins runs examples/plugins, Go and Python, as described in its README.
func TestExamplePlugins(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../examples/plugins")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "operators/wordcount", "go/wordcount/main.go")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	workflow := filepath.Join(folder, "plugins.dig")
	text, err := os.ReadFile(workflow)
	if err != nil {
		t.Fatal(err)
	}
	const verify = `
+verify:
  if>: ${words != 5 || job.rounds != 2 || greeted != 'GOOD DAY, HELLO, WORLD'}
  _do:
    fail>: "words ${words}, rounds ${job.rounds}, greeted ${greeted}"
+wrong:
  wordcount>: nosuch.txt
`
	if err := os.WriteFile(workflow, append(text, verify...), 0o644); err != nil {
		t.Fatal(err)
	}
	e := open(t, "")
	defer e.Close(context.Background())
	var failed *zerodag.Failure
	err = e.Wait(t.Context(), begin(t, e, folder, "plugins", nil))
	if !errors.As(err, &failed) || len(failed.Tasks) != 1 || failed.Tasks["+plugins+wrong"] != "wordcount>: open nosuch.txt: no such file or directory" {
		t.Errorf("got %v, want only +wrong to fail", err)
	}
}
