package security

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// machineLeavers holds scripts that leave a process behind, which writes its ID to a file.
var machineLeavers = map[string]string{
	"two sessions, no environment": `(setsid setsid nohup env -i /bin/sh -c 'echo $$ >FILE; exec sleep 777' >/dev/null 2>&1 &)`,
	"forks again and again":        `setsid env -i /bin/sh -c '(setsid /bin/sh -c "(setsid env -i /bin/sh -c \"echo \\\$\\\$ >FILE; exec sleep 777\" &)" &)' >/dev/null 2>&1`,
	"the server's group":           `(env -i python3 -c 'import os,time; os.setsid(); os.fork() and os._exit(0); open("FILE","w").write(str(os.getpid())+"\n"); time.sleep(777)' >/dev/null 2>&1 &)`,
}

// machineLeave returns the text of a leaver and the file that it writes.
func machineLeave(t *testing.T, s *server, leaver string) (script, file string) {
	t.Helper()
	folder := t.TempDir()
	for f := folder; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755)
	}
	os.Chmod(folder, 0o777)
	file = filepath.Join(folder, "pid")
	return strings.ReplaceAll(leaver, "FILE", file) + "; while ! test -s " + file + "; do sleep 0.01; done", file
}

func machinePid(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestM3_NothingOutlivesItsTask checks that processes that a command leaves behind are gone when its task has ended,
// although they have another session, parent and environment; that a concurrent command loses none of its processes;
// and that this also holds for commands of another user.
func TestM3_NothingOutlivesItsTask(t *testing.T) {
	t.Parallel()
	users := map[string][]string{"the server's user": nil}
	if os.Getuid() == 0 {
		users["nobody"] = []string{"-X", "agent.command_executor.process.user=nobody"}
	}
	for who, options := range users {
		s := prepare(t, options...)
		s.boot()
		other, theirs := machineLeave(t, s, machineLeavers["two sessions, no environment"])
		long := s.beginMain("long", machineShell(other+"; sleep 600"))
		until(t, "the other command runs", func() bool { text, _ := os.ReadFile(theirs); return len(text) > 0 })
		for name, leaver := range machineLeavers {
			if strings.Contains(leaver, "python3") {
				if _, err := exec.LookPath("python3"); err != nil {
					continue
				}
			}
			script, file := machineLeave(t, s, leaver)
			if ok, log := s.run("p", machineShell(script)); !ok {
				t.Fatalf("%s, %s: %s", who, name, log)
			}
			if machineAlive(machinePid(t, file)) {
				t.Errorf("%s, %s: it is still there", who, name)
			}
		}
		if !machineAlive(machinePid(t, theirs)) {
			t.Errorf("%s: what the other command started is gone", who)
		}
		s.send("POST", "/api/attempts/"+long+"/kill", "application/json", nil, nil)
		s.succeeded(long)
		until(t, "the other's is gone, too", func() bool { return !machineAlive(machinePid(t, theirs)) })
	}
}

// TestM3_NothingOutlivesACrash checks that the next start ends processes left by commands of a killed server, even
// processes without an environment.
func TestM3_NothingOutlivesACrash(t *testing.T) {
	t.Parallel()
	s := prepare(t)
	s.boot()
	script, file := machineLeave(t, s, machineLeavers["two sessions, no environment"])
	s.beginMain("p", machineShell(script+"; sleep 600"))
	until(t, "it runs", func() bool { text, _ := os.ReadFile(file); return len(text) > 0 })
	s.kill()
	pid := machinePid(t, file)
	if !machineAlive(pid) {
		t.Fatalf("the end of the server ended %q: this shows nothing\n%s", pid, s.log())
	}
	s.options = append(s.options, "--disable-local-agent")
	s.boot()
	until(t, "it is gone", func() bool { return !machineAlive(pid) })
}

// TestM3_WhatHidesItsMarkIsEndedAtTheLatestWithAllOthers checks the rule for processes that have the rights to change
// their mark: they end at the latest when all commands that were running when they were first seen have ended.
func TestM3_WhatHidesItsMarkIsEndedAtTheLatestWithAllOthers(t *testing.T) {
	t.Parallel()
	asRoot(t)
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("NOT RUN: prlimit is not on this machine")
	}
	s := prepare(t)
	s.boot()
	hidden := `(prlimit --locks=5:5 setsid setsid nohup env -i /bin/sh -c 'echo $$ >FILE; exec sleep 777' >/dev/null 2>&1 &)`
	script, file := machineLeave(t, s, hidden)
	if ok, log := s.run("p", machineShell(script)); !ok || machineAlive(machinePid(t, file)) {
		t.Errorf("alone: it is still there, %v\n%s", ok, log)
	}
	long := s.beginMain("long", machineShell("sleep 600"))
	until(t, "the other command runs", func() bool { return machineRunning(s, "sleep 600") })
	script, file = machineLeave(t, s, hidden)
	if ok, log := s.run("p", machineShell(script)); !ok {
		t.Fatal(log)
	}
	s.run("p", machineShell("true"))
	s.send("POST", "/api/attempts/"+long+"/kill", "application/json", nil, nil)
	s.succeeded(long)
	until(t, "it is gone", func() bool { return !machineAlive(machinePid(t, file)) })
}

// machineRunning reports whether a process below the server has the given command line.
func machineRunning(s *server, line string) bool {
	out, _ := exec.Command("pgrep", "-f", "-s", "0,"+strconv.Itoa(s.pid()), line).Output()
	if len(out) > 0 {
		return true
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, _ := os.ReadFile(name)
		if strings.TrimRight(strings.ReplaceAll(string(text), "\x00", " "), " ") == line {
			return true
		}
	}
	return false
}

// TestM8_CommandsSeeNothingOfTheServer checks that no variable that configures the server is in the environment of a
// command or in the server's environment that the kernel shows, or can be read by a command of the server's own user if
// that is not root.
func TestM8_CommandsSeeNothingOfTheServer(t *testing.T) {
	t.Parallel()
	// Other programs on the machine and other tests also have variables, so these values are unique.
	secret, key := rand.Text(), base64.StdEncoding.EncodeToString([]byte(rand.Text()[:16]))
	look := `env; echo and of others; tr '\0' '\n' </proc/$PPID/environ; for p in /proc/[0-9]*/environ; do tr '\0' '\n' <$p; done 2>/dev/null; true`
	env := []string{"ZERODAG_CONFIG=server.http.headers.X-Test=" + secret + "-0", "DIGDAG_CONFIG=server.http.headers.X-Test=" + secret + "-1", "ZERODAG_TOKEN=" + secret + "-2", "ZERODAG_ANYTHING=" + secret + "-3", "MINE=stays", "ZERODAG_SECRET_KEY=" + key}
	for _, bare := range []bool{false, true} {
		s := prepare(t)
		s.env = env
		if bare {
			s.options = append(s.options, "-X", "agent.command_executor.process.environment=bare")
		}
		s.boot()
		ok, log := s.run("p", machineShell(look))
		own, _, whole := strings.Cut(log, "\nand of others\n")
		if !ok || !whole || strings.Contains(own, "MINE=stays\n") == bare {
			t.Errorf("bare %v: %v\n%s", bare, ok, own)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, secret) || strings.Contains(line, key) {
				t.Errorf("bare %v: a command sees %s", bare, line)
			}
		}
		own = regexp.MustCompile(`(?m)^ZERODAG_(COMMAND|ATTEMPT_ID|SESSION_ID|PROJECT|TASK_NAME|TRY|IDEMPOTENCY_KEY)=.*`).ReplaceAllString(own, "")
		if line := regexp.MustCompile(`(?m)^(ZERODAG_|DIGDAG_CONFIG).*`).FindString(own); line != "" {
			t.Errorf("a variable of the server: %s", line)
		}
		shown, err := os.ReadFile("/proc/" + strconv.Itoa(s.pid()) + "/environ")
		if err != nil || len(shown) == 0 || strings.Contains(string(shown), secret) {
			t.Errorf("the kernel shows %v %q", err, shown)
		}
		s.kill()
	}
}

// TestM8_TheSameUserCannotLookIntoTheServer checks the same for a server that does not run as root.
func TestM8_TheSameUserCannotLookIntoTheServer(t *testing.T) {
	t.Parallel()
	asRoot(t)
	s := prepare(t)
	for f := s.folder; f != "/tmp" && f != "/" && f != os.TempDir(); f = filepath.Dir(f) {
		os.Chmod(f, 0o755)
	}
	os.Chmod(s.folder, 0o777)
	s.env = []string{"ZERODAG_TOKEN=hunter2hunter2", "TMPDIR=" + s.folder}
	s.before = "umask 0"
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	s.as = as
	s.boot()
	ok, log := s.run("p", machineShell(`id -un; cat /proc/$PPID/environ && echo RE""AD; head -c 1 /proc/$PPID/mem; ls /proc/$PPID/fd && echo RE""AD; grep -c . /proc/self/environ`))
	if strings.Contains(log, "READ\n") || strings.Contains(log, "hunter2") || !strings.Contains(log, "nobody\n") {
		t.Errorf("%v\n%s", ok, log)
	}
	script, file := machineLeave(t, s, machineLeavers["two sessions, no environment"])
	if ok, log := s.run("p", machineShell(script)); !ok || machineAlive(machinePid(t, file)) {
		t.Errorf("what a command left is still there, %v\n%s", ok, log)
	}
}

// machineShell returns a workflow with one script.
func machineShell(script string) string {
	return "+a:\n  sh>: " + strconv.Quote(strings.ReplaceAll(script, "$$", "$$$$")) + "\n" // $$ is a $ in a workflow
}

// machineAlive reports whether a process exists and is not a zombie.
func machineAlive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z'
}
