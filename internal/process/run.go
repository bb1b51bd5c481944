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

	"zerodag/internal/limits"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// soon is the time within which most commands end. Until then, one goroutine reads their output and then waits for
// them; only after that, a second one waits concurrently.
const soon = 10 * time.Millisecond

// run starts a command, passes its output on and returns how it ended.
func (in commands) run(ctx context.Context, c operators.Command) (operators.Exit, error) {
	d, root := in.driver, in.root
	if len(c.Args) == 0 {
		return operators.Exit{}, errors.New("run a command: no program is set")
	}
	number := d.begin()
	defer d.end(number)
	if in.user != nil && c.Sandbox.Processes == 0 {
		c.Sandbox.Processes = mostProcesses
	}
	w := &watch{driver: d, limits: c.Sandbox, number: number, disk: limits.NewDisk(root, c.Sandbox.Disk)}
	w.output = limits.NewOutput(c.Stdout, c.Sandbox.Output, w.tooMuchOutput)
	if c.Sandbox.CPU > 0 {
		w.output.Say("sandbox: cpu has no effect on a plain process (only with docker)")
	}
	var p *os.Process
	var reader *os.File
	err := limits.Patiently(ctx, c.Stdout, func() (err error) {
		p, reader, err = in.start(c, number)
		return err
	})
	if err != nil {
		return operators.Exit{}, err
	}
	defer reader.Close()
	d.started(p.Pid, number)
	g := newGroup(p)
	w.group = g
	defer context.AfterFunc(ctx, func() { g.stop(c.GraceFor(ctx, d.grace()), d.options.Cut) })()
	if c.Sandbox.Time > 0 {
		defer time.AfterFunc(c.Sandbox.Time, func() { w.end(operators.TooLong(c.Sandbox.Time)) }).Stop()
	}
	left := 0
	wait := sync.OnceValues(func() (syscall.WaitStatus, error) {
		status, err := d.wait(p, g)
		left = d.sweep(g, number)
		// The process that may still hold the pipe was not found: it must not block us.
		reader.SetReadDeadline(time.Now().Add(d.options.Grace))
		return status, err
	})
	var out io.Writer = w.output
	if in.user != nil {
		w.forks.to, out = out, &w.forks
	}
	await(reader)
	// If pipes have no deadlines, as on Windows, every command is awaited while its output is read.
	if reader.SetReadDeadline(time.Now().Add(soon)) != nil || errors.Is(d.pass(reader, out), os.ErrDeadlineExceeded) {
		reader.SetReadDeadline(time.Time{})
		ended := make(chan struct{})
		go func() { defer close(ended); wait() }()
		var looking sync.WaitGroup
		if w.needed() {
			looking.Go(w.look)
		}
		d.pass(reader, out)
		<-ended
		looking.Wait()
	}
	status, err := wait()
	if err != nil {
		return operators.Exit{}, err
	}
	exit := w.exit(ctx, status)
	if left > 0 && exit.Why == "" && ctx.Err() == nil {
		w.output.Say("%s that the command left running: background processes end with the task", ended(left))
	}
	return exit, nil
}

// ended describes how many processes were ended.
func ended(n int) string {
	if n == 1 {
		return "ended a process"
	}
	return fmt.Sprintf("ended %d processes", n)
}

// start starts a command, whose output is read from output.
func (in commands) start(c operators.Command, number int) (_ *os.Process, output *os.File, err error) {
	dir := filepath.Join(in.root, filepath.FromSlash(c.Dir))
	program, err := programOf(c.Args[0])
	if err != nil {
		return nil, nil, startError(dir, c.Args[0], err)
	}
	// Each command gets its own file: a shared one might have the last descriptor that this process is allowed, which
	// cannot be passed to commands (limits.Scarce).
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	reader, writer, err := pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("create a pipe: %w", err)
	}
	defer writer.Close()
	// In a separate session, nothing that a command starts can affect ours.
	attr := &os.ProcAttr{Dir: dir, Env: in.environment(in.driver.mark(number), dir, c.Env),
		Files: []*os.File{null, writer, writer}, Sys: apart()}
	p, err := in.spawn(program, c, number, attr)
	if err != nil {
		reader.Close()
		return nil, nil, startError(dir, c.Args[0], tooLarge(err, attr.Env))
	}
	return p, reader, nil
}

func (in commands) spawn(program string, c operators.Command, number int, attr *os.ProcAttr) (*os.Process, error) {
	d := in.driver
	if in.user != nil {
		return d.spawnAs(in.user, program, c, number, attr)
	}
	var p *os.Process
	start := func() (err error) { p, err = os.StartProcess(program, c.Args, attr); return err }
	err := lineage.Start(d.base+lineage.Mark(number), func() error {
		if d.options.Hide != nil {
			return d.options.Hide.Start(in.root, start)
		}
		return start()
	})
	return p, err
}

// startError returns an error for users about a command that did not start: it states what failed, where and why.
func startError(dir, program string, err error) error {
	if limits.Scarce(err) {
		return fmt.Errorf("start %s: %w", program, err)
	}
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

// wait waits for the command itself.
func (d *Driver) wait(p *os.Process, g *group) (syscall.WaitStatus, error) {
	state, err := p.Wait()
	g.end()
	d.ended(g.id)
	if err != nil {
		var none syscall.WaitStatus
		return none, fmt.Errorf("wait for a command: %w", err)
	}
	status, known := state.Sys().(syscall.WaitStatus)
	if !known {
		return status, errors.New("wait for a command: its outcome is unknown")
	}
	return status, nil
}

// grace returns how long a canceled command has to end before it is killed.
func (d *Driver) grace() time.Duration {
	if d.options.KillNow {
		return 0
	}
	return d.options.Grace
}

func (g *group) stop(grace time.Duration, cut <-chan struct{}) {
	if grace > 0 {
		g.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-g.over:
		case <-timer.C:
		case <-cut:
		}
	}
	g.signal(syscall.SIGKILL)
}

// pass copies output as it arrives, in lines or parts of lines, and returns why it ended.
func (d *Driver) pass(from io.Reader, to io.Writer) error {
	buffer := d.buffers.Get().(*[32 << 10]byte)
	defer d.buffers.Put(buffer)
	for {
		n, err := from.Read(buffer[:])
		if n > 0 {
			to.Write(buffer[:n])
		}
		if err != nil {
			return err
		}
	}
}
