package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stubborn returns workflows whose commands keep running after the first Ctrl-C. Each command records that it has
// started, and that it, or the run, was asked to end. The shell itself writes the first record: a touch that has
// written it may still be running when the signal arrives, and the script would end with it.
func stubborn() map[string]string {
	return map[string]string{
		"ignores TERM": `+a:
  sh>: |
    (trap '' TERM; exec sleep 1000) &
    (trap '' TERM; exec setsid env -i sleep 1000) &
    trap 'touch told' TERM
    echo > begun
    while :; do wait || :; done
`,
		"finally": `+a:
  _finally:
    sh>: touch told; sleep 1000
  sh>: echo > begun; sleep 1000
`,
		"begins just then": `+a:
  _finally:
    loop>: 500
    _parallel: true
    _do:
      sh>: touch told; sleep 1000
  sh>: echo > begun; sleep 1000
`,
	}
}

// TestSecondSignal checks that a run that is asked to end for the second time ends at once, by the signal. No process
// that its commands started is left afterward, not even one that starts at that moment.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	for name, text := range stubborn() {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+", "+s.String(), func(t *testing.T) {
				t.Parallel()
				r := runIn(t, program, text)
				r.until("begun")
				r.send(s)
				r.until("told")
				if len(r.others()) == 0 {
					t.Fatal("no command runs: this shows nothing")
				}
				r.send(s)
				r.wantEnd(s)
			})
		}
	}
}

// TestHangup checks that closing the terminal ends a run as Ctrl-C does, and counts once even if several signals
// arrive: the shell and the kernel both send one.
func TestHangup(t *testing.T) {
	t.Parallel()
	r := runIn(t, buildProgram(t), stubborn()["finally"])
	r.until("begun")
	r.send(syscall.SIGHUP)
	r.until("told")
	r.send(syscall.SIGHUP)
	r.send(syscall.SIGTERM)
	r.wantEnd(syscall.SIGTERM)
}

// TestIgnoredSignal checks that a run that was started with ignored signals, as by a script with & or by nohup, is not
// ended by them.
func TestIgnoredSignal(t *testing.T) {
	t.Parallel()
	r := runIn(t, "/bin/sh", "+a:\n  sh>: echo > begun; until test -f go-on; do sleep 0.01; done\n",
		"-c", `trap '' INT HUP; exec "$0" run main`, buildProgram(t))
	r.until("begun")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGHUP} {
		r.send(s)
	}
	write(t, filepath.Join(r.dir, "go-on"), "")
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &r.out)
	}
}

// signalled is a run in a separate process group, which gets signals the way a terminal sends them.
type signalled struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	out strings.Builder
}

// runIn runs a workflow. Without arguments, the program is zerodag.
func runIn(t *testing.T, program, text string, args ...string) *signalled {
	t.Helper()
	if signal.Ignored(os.Interrupt) || signal.Ignored(syscall.SIGHUP) {
		t.Skip("NOT RUN: these tests ignore signals, and so does what they start")
	}
	r := &signalled{t: t, dir: t.TempDir()}
	write(t, filepath.Join(r.dir, "main.dig"), "zerodag: 1\n"+text)
	if len(args) == 0 {
		args = []string{"run", "main"}
	}
	r.cmd = exec.Command(program, args...)
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = r.dir, &r.out, &r.out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killLeftover(t, r.dir) })
	return r
}

func (r *signalled) until(file string) {
	r.t.Helper()
	waitFor(r.t, func() bool { _, err := os.Stat(filepath.Join(r.dir, file)); return err == nil })
}

func (r *signalled) send(s syscall.Signal) {
	r.t.Helper()
	if err := syscall.Kill(-r.cmd.Process.Pid, s); err != nil {
		r.t.Fatal(err)
	}
}

// others returns the processes of its commands.
func (r *signalled) others() (list []string) {
	for _, pid := range processesIn(r.dir) {
		if pid != r.cmd.Process.Pid {
			text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			list = append(list, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return list
}

// wantEnd waits for the end of the run, by a signal, and checks that nothing is left.
func (r *signalled) wantEnd(s syscall.Signal) {
	r.t.Helper()
	var exit *exec.ExitError
	if err := r.cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != s {
		r.t.Errorf("it ended with %v, want %v\n%s", err, s, &r.out)
	}
	if left := r.others(); len(left) > 0 {
		r.t.Errorf("left: %q\n%s", left, &r.out)
	}
}
