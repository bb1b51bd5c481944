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
	"strings"
	"sync"
	"syscall"
	"time"

	"zerodag/operators"
)

// soon is the time in which most commands are over. Until then one goroutine reads their
// output and then waits for them; only later another one waits beside it.
const soon = 10 * time.Millisecond

// run starts a command, passes its output on and returns its exit code.
func (d *Driver) run(ctx context.Context, root string, c operators.Command) (int, error) {
	if len(c.Args) == 0 {
		return 0, errors.New("run a command: it has no program")
	}
	reader, writer, err := pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe: %w", err)
	}
	defer reader.Close()
	mark := d.mark()
	p, err := d.start(filepath.Join(root, filepath.FromSlash(c.Dir)), c, writer, mark)
	writer.Close()
	if err != nil {
		return 0, err
	}
	d.started(p.Pid)
	g := &group{id: p.Pid, over: make(chan struct{})}
	defer context.AfterFunc(ctx, func() { g.stop(d.options) })()
	wait := sync.OnceValues(func() (int, error) {
		code, err := d.wait(p, g)
		d.sweep(p.Pid, mark)
		// Whoever might still hold the pipe was not to be found: it must not hold us.
		reader.SetReadDeadline(time.Now().Add(d.options.Grace))
		return code, err
	})
	reader.SetReadDeadline(time.Now().Add(soon))
	if errors.Is(d.pass(reader, c.Stdout), os.ErrDeadlineExceeded) {
		reader.SetReadDeadline(time.Time{})
		ended := make(chan struct{})
		go func() { defer close(ended); wait() }()
		d.pass(reader, c.Stdout)
		<-ended
	}
	return wait()
}

// pipe makes a pipe of which only the end that is read can have a deadline: the other one
// is the command's.
func pipe() (r, w *os.File, err error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return nil, nil, err
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	err = syscall.SetNonblock(ends[0], true)
	return os.NewFile(uintptr(ends[0]), "output"), os.NewFile(uintptr(ends[1]), "output"), err
}

func (d *Driver) start(dir string, c operators.Command, output *os.File, mark string) (*os.Process, error) {
	program, err := exec.LookPath(c.Args[0])
	if errors.Is(err, exec.ErrDot) || strings.ContainsRune(c.Args[0], filepath.Separator) {
		program, err = c.Args[0], nil // as seen from dir; starting it says what is wrong with it
	}
	if err != nil {
		return nil, startError(dir, c.Args[0], err)
	}
	null, err := d.null()
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess(program, c.Args, &os.ProcAttr{Dir: dir, Env: environment(mark, dir, c.Env),
		Files: []*os.File{null, output, output}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		return nil, startError(dir, c.Args[0], err)
	}
	return p, nil
}

// startError is the user's text for a command that did not start: what, where and why.
func startError(dir, program string, err error) error {
	cause := err
	var onPath *fs.PathError
	if errors.As(err, &onPath) {
		cause = onPath.Err
	}
	if _, e := os.Stat(dir); e != nil {
		cause = errors.New("there is no such directory")
	} else if errors.Is(err, exec.ErrNotFound) {
		cause = errors.New("no such program on the PATH")
	}
	return fmt.Errorf("Cannot run program %q (in directory %q): %w", program, dir, cause)
}

// wait waits for the command itself. When it is cancelled it is asked to end and, after
// the grace time, forced.
func (d *Driver) wait(p *os.Process, g *group) (int, error) {
	state, err := p.Wait()
	g.end()
	d.ended(g.id)
	if err != nil {
		return 0, fmt.Errorf("wait for a command: %w", err)
	}
	status, known := state.Sys().(syscall.WaitStatus)
	if !known {
		return 0, errors.New("wait for a command: its end is not known")
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

// pass copies output as it comes, line or part of a line, and returns why it ended. A
// receiver that fails does not stop the command: it must not block on a full pipe.
func (d *Driver) pass(from io.Reader, to io.Writer) error {
	if to == nil {
		to = io.Discard
	}
	buffer := d.buffers.Get().(*[32 << 10]byte)
	defer d.buffers.Put(buffer)
	for {
		n, err := from.Read(buffer[:])
		if n > 0 {
			if _, e := to.Write(buffer[:n]); e != nil {
				to = io.Discard
			}
		}
		if err != nil {
			return err
		}
	}
}
