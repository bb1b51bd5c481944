package durability_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"zerodag/integration/server"
)

// escapes holds commands that start a process with another session, parent, environment or user. The process creates
// FILE to show that it is running and sleeps for SECONDS; most commands wait for it. Commands that change their soft
// limits, like su, wait until the server has set the hard limit: docs/commands.md describes the first moments.
var escapes = map[string]string{
	"another user":            `su - nobody -s /bin/sh -c 'touch FILE; sleep SECONDS; true'`,
	"session and environment": `setsid -w env -i PATH="$PATH" sh -c 'touch FILE; sleep SECONDS; true'`,
	"in the background":       `env -i PATH="$PATH" setsid sh -c 'touch FILE; sleep SECONDS; true' >/dev/null 2>&1 & sleep SECONDS`,
	"forked twice":            `(setsid env -i PATH="$PATH" sh -c '(setsid sh -c "touch FILE; exec sleep SECONDS" &) &' >/dev/null 2>&1 &); sleep SECONDS`,
	"another user, forked":    `sleep 1; su - nobody -s /bin/sh -c '(setsid env -i sh -c "touch FILE; exec sleep SECONDS" >/dev/null 2>&1 &) &'; sleep SECONDS`,
	"soft limit reset":        `sleep 1; ({ ulimit -S -w 5 || ulimit -S -x 5; } 2>/dev/null; setsid env -i sh -c 'touch FILE; exec sleep SECONDS' >/dev/null 2>&1 &); sleep SECONDS`, // not in its first moments: docs/commands.md describes what is possible then
}

// escaped is an attempt for each escape, on one server.
type escaped struct {
	*server.Server
	t        *testing.T
	folder   string
	attempts []string
	seconds  map[string]string // durations of the processes' sleep, which distinguish them from all others
}

// escapeNumber makes the seconds of all tests different.
var escapeNumber atomic.Int64

// escape starts all escapes. over means that a command ends as soon as its process is running, without waiting for it;
// task holds further settings of its task.
func escape(t *testing.T, srv *server.Server, over bool, task string) *escaped {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("NOT RUN: setsid is not on this machine")
	}
	srv.Start()
	e := &escaped{Server: srv, t: t, folder: t.TempDir(), seconds: map[string]string{}}
	for f := e.folder; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755)
	}
	os.Chmod(e.folder, 0o777)
	files, wanted := map[string]string{}, []string{}
	for name, script := range escapes {
		if strings.Contains(script, "su -") && (os.Getuid() != 0 || exec.Command("su", "-", "nobody", "-s", "/bin/sh", "-c", "true").Run() != nil) {
			t.Logf("NOT RUN: %s needs root and su", name)
			continue
		}
		seconds := strconv.FormatInt(100_000_000+int64(os.Getpid())*1000+escapeNumber.Add(1), 10)
		file := filepath.Join(e.folder, seconds)
		if over {
			script = strings.TrimSuffix(script, "sleep SECONDS")
			if !strings.Contains(script, ")") && !strings.HasSuffix(strings.TrimSpace(script), "&") || strings.HasSuffix(script, "true'") {
				script += " >/dev/null 2>&1 &"
			}
			script += " until test -f FILE; do sleep 0.02; done"
		}
		script = strings.NewReplacer("FILE", file, "SECONDS", seconds).Replace(script)
		files["w"+seconds+".dig"] = "+a:\n  sh>: " + strconv.Quote(script) + "\n" + task
		e.seconds[seconds], wanted = name, append(wanted, file)
	}
	e.start(files)
	for _, file := range wanted {
		e.until("the process is there", func() bool { _, err := os.Stat(file); return err == nil })
	}
	return e
}

func (e *escaped) start(files map[string]string) {
	e.t.Helper()
	if status, text, err := e.Call(http.MethodPut, "/api/projects?project=p&revision=1", "application/gzip", server.Pack(files)); err != nil || status != http.StatusOK {
		e.t.Fatal(status, string(text), err)
	}
	var list struct{ Workflows []struct{ ID string } }
	e.Get("/api/workflows", &list)
	for _, w := range list.Workflows {
		status, text, err := e.Call(http.MethodPut, "/api/attempts", "application/json", fmt.Appendf(nil, `{"workflowId":%q,"sessionTime":"2024-01-01T00:00:00Z","params":{}}`, w.ID))
		var a attempt
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil || status != http.StatusOK {
			e.t.Fatal(status, string(text), err)
		}
		e.attempts = append(e.attempts, a.ID)
	}
}

func (e *escaped) until(what string, is func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("never: %s\n%s", what, e.Log())
		}
	}
}

// left lists the command lines of processes that are still running.
func (e *escaped) left() (lines []string) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(all) == 0 {
		e.t.Fatal("no process is seen")
	}
	for _, process := range all {
		text, _ := os.ReadFile(process)
		for seconds, name := range e.seconds {
			if strings.Contains(string(text), seconds) {
				lines = append(lines, filepath.Base(filepath.Dir(process))+" "+name+": "+strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
	}
	return lines
}

// stop asks the server twice to end, so that it cuts off running commands.
func (e *escaped) stop() {
	e.t.Helper()
	for range 2 {
		if err := e.Process().Signal(syscall.SIGTERM); err != nil {
			e.t.Fatal(err)
		}
		e.until("it takes note", func() bool { return strings.Contains(e.Log(), "Waiting for completion") })
	}
	if err := e.Wait(); err != nil {
		e.t.Error(err)
	}
	e.attempts = nil
}

func (e *escaped) wantNothing(when string) {
	e.t.Helper()
	e.over()
	if left := e.left(); len(left) > 0 {
		e.t.Errorf("%s: still there:\n%s\n%s", when, strings.Join(left, "\n"), e.Log())
		for _, line := range left {
			if pid, err := strconv.Atoi(strings.Fields(line)[0]); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// over waits for the end of all attempts.
func (e *escaped) over() {
	e.t.Helper()
	for _, id := range e.attempts {
		e.until("attempt "+id+" ends", func() bool {
			var a attempt
			e.Get("/api/attempts/"+id, &a)
			return a.Done
		})
	}
}

// TestNothingOutlivesItsCommand checks that everything that a command started ends with it, even processes with another
// session, parent, user and no environment: when the command ends normally, is killed or times out, when the server is
// asked to end at once, and when the server starts again after a crash.
func TestNothingOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	program := server.Build(t)
	t.Run("end", func(t *testing.T) {
		t.Parallel()
		e := escape(t, server.New(t, program), true, "")
		e.wantNothing("at the end")
	})
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		e := escape(t, server.New(t, program), false, "")
		if len(e.left()) < len(e.seconds) {
			t.Fatalf("only %v runs: this shows nothing", e.left())
		}
		for _, id := range e.attempts {
			if status, text, err := e.Call(http.MethodPost, "/api/attempts/"+id+"/kill", "application/json", []byte("{}")); err != nil || status != http.StatusOK {
				t.Fatal(status, string(text), err)
			}
		}
		e.wantNothing("after a kill")
	})
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		e := escape(t, server.New(t, program), false, "  sandbox: {timeout: 3s}\n")
		e.wantNothing("after its time")
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		e := escape(t, server.New(t, program), false, "")
		e.stop()
		e.wantNothing("after the end of the server")
	})
	t.Run("crash", func(t *testing.T) {
		t.Parallel()
		e := escape(t, server.New(t, program), false, "")
		e.Kill()
		before := e.left()
		if len(before) < len(e.seconds) {
			t.Fatalf("the end of the server ended them, only %v runs: this shows nothing", before)
		}
		for seconds := range e.seconds {
			if err := os.Remove(filepath.Join(e.folder, seconds)); err != nil {
				t.Fatal(err)
			}
		}
		e.Start()
		left := e.left()
		for _, line := range before {
			if slices.Contains(left, line) {
				t.Errorf("after the next start: still there: %s\n%s", line, e.Log())
			}
		}
		for seconds := range e.seconds { // processes that the server started again
			e.until("the process is there again", func() bool { _, err := os.Stat(filepath.Join(e.folder, seconds)); return err == nil })
		}
		e.stop()
		e.wantNothing("after the end of the server")
	})
}
