package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledRunResumes checks that a run that is killed in the middle (SIGKILL) leaves a state from which the next run
// continues: tasks that succeeded do not run again, all others do, and no file is half-written.
func TestKilledRunResumes(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	dir := t.TempDir()
	var text strings.Builder
	for _, name := range []string{"a", "b", "c", "d"} {
		text.WriteString("+" + name + ":\n  sh>: echo " + name + " >> log; test -f go-on || test " + name + " != c || sleep 1000\n")
	}
	write(t, filepath.Join(dir, "main.dig"), text.String())
	first := exec.Command(program, "run", "main", "--session", "2024-01-01")
	first.Dir = dir
	first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.HasSuffix(read(filepath.Join(dir, "log")), "c\n") })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	killLeftover(t, dir)
	states, err := filepath.Glob(filepath.Join(dir, ".zerodag/status/20240101T000000+0000/*.yml"))
	if err != nil || len(states) != 2 {
		t.Fatalf("saved states after the kill: %v, %v; want those of +a and +b", states, err)
	}
	write(t, filepath.Join(dir, "go-on"), "")
	second := exec.Command(program, "run", "main", "--session", "2024-01-01")
	second.Dir = dir
	if out, err := second.CombinedOutput(); err != nil {
		t.Fatalf("second run: %v\n%s", err, out)
	}
	if got, want := read(filepath.Join(dir, "log")), "a\nb\nc\nc\nd\n"; got != want {
		t.Errorf("what ran over both: %q, want %q", got, want)
	}
}

// TestInterruptedRun checks that Ctrl-C ends the running command and saves the results so far.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.dig"), "_error:\n  echo>: handled\n+a:\n  echo>: a\n+b:\n  sh>: echo started > log; sleep 1000\n+c:\n  echo>: never\n")
	cmd := exec.Command(program, "run", "main", "--session", "2024-01-01")
	cmd.Dir = dir
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return read(filepath.Join(dir, "log")) != "" })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted run must not end with exit code 0")
	}
	if text := out.String(); !strings.Contains(text, "Interrupted after") || strings.Contains(text, "never") || strings.Contains(text, "echo>: handled") {
		t.Errorf("output of the interrupted run:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, ".zerodag/status/20240101T000000+0000/+main+a.yml")); err != nil {
		t.Error(err)
	}
}

func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "zerodag")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// killLeftover ends the command that the killed run could not end. The command has the project's folder as its working
// directory.
func killLeftover(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range processesIn(dir) {
		t.Logf("left over: %d %v", pid, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// processesIn returns the processes whose working directory is dir.
func processesIn(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == dir {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2]) // a number, by the pattern
			pids = append(pids, pid)
		}
	}
	return pids
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// waitFor waits for another process, which a simulated clock cannot control.
func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-deadline:
			t.Fatal("not ready after 30 s")
		case <-tick.C:
		}
	}
}
