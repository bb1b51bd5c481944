package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"zerodag/operators"
)

// run starts a command, passes its output on and returns its exit code.
func (d *Driver) run(ctx context.Context, root string, c operators.Command) (int, error) {
	if len(c.Args) == 0 {
		return 0, errors.New("run a command: it has no program")
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe: %w", err)
	}
	defer reader.Close()
	mark := d.mark()
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(c.Dir))
	cmd.Env = environment(mark, cmd.Dir, c.Env)
	cmd.Stdout, cmd.Stderr = writer, writer
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	writer.Close()
	if err != nil {
		return 0, startError(cmd, err)
	}
	d.started(cmd.Process.Pid)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		pass(reader, c.Stdout)
	}()
	code, err := d.wait(ctx, cmd)
	d.sweep(cmd.Process.Pid, mark)
	// Whoever might still hold the pipe was not to be found: it must not hold us.
	reader.SetReadDeadline(time.Now().Add(d.options.Grace))
	<-copied
	return code, err
}

// startError is the user's text for a command that did not start: what, where and why.
func startError(cmd *exec.Cmd, err error) error {
	cause := err
	var onPath *fs.PathError
	if errors.As(err, &onPath) {
		cause = onPath.Err
	}
	if _, e := os.Stat(cmd.Dir); e != nil {
		cause = errors.New("there is no such directory")
	} else if errors.Is(err, exec.ErrNotFound) {
		cause = errors.New("no such program on the PATH")
	}
	return fmt.Errorf("Cannot run program %q (in directory %q): %w", cmd.Args[0], cmd.Dir, cause)
}

// wait waits for the command itself. When ctx is cancelled it is asked to end and, after
// the grace time, forced.
func (d *Driver) wait(ctx context.Context, cmd *exec.Cmd) (int, error) {
	g := &group{id: cmd.Process.Pid, over: make(chan struct{})}
	unwatch := context.AfterFunc(ctx, func() { g.stop(d.options) })
	err := cmd.Wait()
	g.end()
	unwatch()
	d.ended(g.id)
	status, known := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !known {
		return 0, fmt.Errorf("wait for a command: %w", err)
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// group is a process group whose leader runs until over is closed. The lock keeps signals
// from a group whose number may already be somebody else's.
type group struct {
	id   int
	mu   sync.Mutex
	done bool
	over chan struct{}
}

func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	close(g.over)
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.done {
		syscall.Kill(-g.id, s)
	}
}

func (g *group) stop(o Options) {
	if !o.KillNow {
		g.signal(syscall.SIGTERM)
		timer := time.NewTimer(o.Grace)
		defer timer.Stop()
		select {
		case <-g.over:
		case <-timer.C:
		}
	}
	g.signal(syscall.SIGKILL)
}

// pass copies output as it comes, line or part of a line. A receiver that fails does not
// stop the command: it must not block on a full pipe.
func pass(from io.Reader, to io.Writer) {
	if to == nil {
		to = io.Discard
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, e := to.Write(buffer[:n]); e != nil {
				to = io.Discard
			}
		}
		if err != nil {
			return
		}
	}
}
