package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestDaemonsAreFound(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not on this machine")
	}
	d := New(Options{})
	for name, script := range map[string]string{
		"own session": `setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' & sleep 0.2`,
		"forks twice": `setsid sh -c '(sleep 1000 >/dev/null 2>&1 & echo $!)'`,
		"holds pipe":  `setsid sh -c '(sleep 1000 & echo $!)'`,
		"has child":   `setsid sh -c 'sh -c "echo \$\$; sleep 1000; :" & echo $!; wait' & sleep 0.2`,
	} {
		_, out := run(t, t.Context(), d, sh(script))
		wantGone(t, name, out)
	}
}

// TestSaysWhatItEnded proves that a command whose background processes are ended reports this, and that a command whose
// background processes had already ended does not.
func TestSaysWhatItEnded(t *testing.T) {
	t.Parallel()
	const line = "zerodag: ended a process that the command left running: background processes end with the task\n"
	// A process that is about to become another program briefly has no environment, and is not counted during that
	// time.
	const started = "until grep -q sleep /proc/$!/comm && grep -qa . /proc/$!/environ; do :; done"
	for script, want := range map[string]string{
		"sleep 1000 & " + started:                               line,
		"setsid sleep 1000 & sleep 0.2":                         line,
		"sleep 1000 & " + started + "; sleep 1000 & " + started: strings.ReplaceAll(line, "a process", "2 processes"),
		"true & wait": "",
		"(exit 3) & while kill -0 $!; do :; done 2>/dev/null; exit 0": "",
		"sleep 1000 & kill -9 $!; wait":                               "",
	} {
		if _, out := run(t, t.Context(), New(Options{}), sh(script)); strings.TrimPrefix(out, "Killed\n") != want {
			t.Errorf("%s says %q, want %q", script, out, want)
		}
	}
}

// TestOnlyItsOwn proves that the end of one command does not affect the daemons of others.
func TestOnlyItsOwn(t *testing.T) {
	t.Parallel()
	d := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lives := make(chan string, 1)
	ended := make(chan ending, 1)
	go func() {
		c := sh(`setsid sh -c 'while :; do sleep 0.01; done' >/dev/null 2>&1 & echo $!; wait`)
		var once bool
		var out bytes.Buffer
		c.Stdout = writerFunc(func(b []byte) (int, error) {
			out.Write(b)
			if !once {
				once = true
				lives <- out.String()
			}
			return len(b), nil
		})
		exit, err := d.In(t.TempDir()).Run(ctx, c)
		ended <- ending{exit.Code, err}
	}()
	pid := strings.TrimSpace(<-lives)
	if exit, _ := run(t, t.Context(), d, sh("setsid sleep 1000 >/dev/null 2>&1 & kill -0 "+pid)); exit.Code != 0 {
		t.Errorf("the other command's daemon was gone before this one ended")
	}
	if exit, _ := run(t, t.Context(), d, sh("kill -0 "+pid)); exit.Code != 0 {
		t.Errorf("the end of one command ended the daemon of another")
	}
	cancel()
	if r := <-ended; r.err != nil || r.code == 0 {
		t.Errorf("cancelled: got %+v", r)
	}
	wantGone(t, "cancelled", pid)
}

type ending struct {
	code int
	err  error
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestMarksOfCommandsInCommands(t *testing.T) {
	t.Parallel()
	env := []byte("A=1\x00ZERODAG_COMMAND=X-1,X-12\x00B=2")
	for mark, want := range map[string]bool{"X-1": true, "X-12": true, "X-2": false, "X-11": false} {
		if got := carries(env, func(m string) bool { return m == mark }); got != want {
			t.Errorf("%s: got %v, want %v", mark, got, want)
		}
	}
}

// TestReclaim proves that a driver with the same name ends the processes that a killed program left running, even in
// separate sessions, and does not end the processes of others.
func TestReclaim(t *testing.T) {
	t.Parallel()
	name := t.Name() + "-" + strconv.Itoa(os.Getpid())
	start := func(mark string) *exec.Cmd {
		c := exec.Command("sleep", "1000")
		c.Env = append(os.Environ(), markName+"="+mark)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine, other := start(name+"-7"), start(name+"x-7")
	ended := make(chan error, 1)
	go func() { ended <- mine.Wait() }()
	if n := New(Options{Name: name}).Reclaim(); n != 1 {
		t.Errorf("%d processes were ended, want 1", n)
	}
	if err := <-ended; err == nil {
		t.Error("the command ended by itself")
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another driver's command: %v", err)
	}
	other.Process.Kill()
	other.Wait()
}
