package process

import (
	"bytes"
	"context"
	"io"
	"syscall"
	"time"

	"zerodag/internal/limits"
	"zerodag/operators"
)

// watchTime is the interval between checks of a command that is not new, and slowTime is the longest interval: on a
// busy machine, a check takes longest when it matters most.
const (
	watchTime = 250 * time.Millisecond
	slowTime  = time.Second
)

// watch ends a command that exceeds its limits.
type watch struct {
	driver *Driver
	group  *group
	number int
	limits operators.Sandbox
	output *limits.Output
	forks  forks
	disk   *limits.Disk
	why    limits.Reason
}

// end forces the command to end, for a reason.
func (w *watch) end(why string) {
	w.why.Set(why)
	w.group.signal(syscall.SIGKILL) // which also ends everything that it started
}

func (w *watch) tooMuchOutput() {
	limit := w.limits.Output
	if limit == 0 {
		limit = limits.DefaultOutput
	}
	w.end(operators.TooMuchOutput(limit))
}

// needed reports whether a goroutine must watch the command while it runs.
func (w *watch) needed() bool {
	return w.limits.Processes > 0 || w.limits.Memory > 0 || w.limits.Disk > 0
}

// look checks the command until it ends, less often the older it is and the longer a check takes. It begins after the
// time within which most commands end.
func (w *watch) look() {
	pause := soon
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-w.group.over:
			return
		case <-timer.C:
		}
		began := time.Now()
		if why := w.tooMuch(); why != "" {
			w.end(why)
			return
		}
		pause = min(2*pause, watchTime)
		timer.Reset(min(max(pause, 20*time.Since(began)), slowTime))
	}
}

// tooMuch describes the limit that the command exceeds; "" means none.
func (w *watch) tooMuch() string {
	if w.limits.Processes > 0 || w.limits.Memory > 0 {
		count, memory := w.driver.usage(w.group.id, w.number)
		if w.limits.Processes > 0 && count > w.limits.Processes {
			return operators.TooManyProcesses(w.limits.Processes)
		}
		if w.limits.Memory > 0 && memory > w.limits.Memory {
			return operators.OutOfMemory(w.limits.Memory)
		}
	}
	if w.disk.Full() {
		return operators.TooMuchDisk(w.limits.Disk)
	}
	return ""
}

// forks passes output on and records whether a command complains that it cannot fork: a fork bomb that has reached its
// user's limit may end before it is counted.
type forks struct {
	to      io.Writer
	refused bool
}

func (f *forks) Write(p []byte) (int, error) {
	for _, text := range []string{"annot fork", "an't fork", "Resource temporarily unavailable"} {
		f.refused = f.refused || bytes.Contains(p, []byte(text))
	}
	return f.to.Write(p)
}

// exit returns how the command ended. No more output is written.
func (w *watch) exit(ctx context.Context, s syscall.WaitStatus) operators.Exit {
	if w.disk.FullAtEnd() { // a short command may end before the first check or between two checks
		w.why.Set(operators.TooMuchDisk(w.limits.Disk))
	}
	if w.forks.refused && (s.Signaled() || s.ExitStatus() != 0) {
		w.why.Set(operators.TooManyProcesses(w.limits.Processes))
	}
	if !s.Signaled() {
		return operators.Exit{Code: s.ExitStatus(), Why: w.why.Get()}
	}
	if w.why.Get() == "" && ctx.Err() == nil && s.Signal() == syscall.SIGKILL && w.driver.ranOutOfMemory() {
		w.why.Set(operators.OutOfMemory(w.limits.Memory))
	}
	return operators.Exit{Code: 128 + int(s.Signal()), Signal: int(s.Signal()), Why: w.why.Get()}
}

// ranOutOfMemory reports whether the kernel has killed processes for lack of memory since the last call.
func (d *Driver) ranOutOfMemory() bool {
	n := limits.OOMKills()
	d.mu.Lock()
	defer d.mu.Unlock()
	more := n > d.ooms
	d.ooms = n
	return more
}
