package evaluators

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zerodag/engine/expr"
	"zerodag/internal/evaluators/wire"
)

const (
	startTime = 20 * time.Second // the time within which an evaluator must send its greeting, even on a busy machine
	// How long an evaluation may take: the engine ends its own after 500 ms. After firstLook, its processor time is
	// checked, and after hardTime, it is killed once it has used its share. An evaluator that got no processor time may
	// continue until wire.LastTime.
	firstLook = 400 * time.Millisecond
	hardTime  = 800 * time.Millisecond
	nextLook  = 50 * time.Millisecond
	share     = 250 * time.Millisecond
	// blindTime applies if the system does not report processor time.
	blindTime = 3 * time.Second
)

// process is one evaluator. Only one goroutine at a time uses it.
type process struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	read  *bufio.Reader
	said  tail
	ended chan struct{}
	since time.Time // when it was last returned to the pool
}

// tail keeps the first bytes of the output in which an evaluator explains its end.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[:min(len(b), 4<<10-len(t.text))]...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// start starts an evaluator and waits until it is ready.
func start(ctx context.Context, path string) (p *process, err error) {
	p = &process{ended: make(chan struct{})}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		in.Close()
		return nil, err
	}
	p.in, p.out, p.read = in, out, bufio.NewReader(out)
	for a := attributes(); ; {
		p.cmd = &exec.Cmd{Path: path, Args: []string{wire.Greeting}, Env: []string{}, Stdin: stdin, Stdout: stdout, Stderr: &p.said, SysProcAttr: a}
		if err = p.cmd.Start(); err == nil || !unbound(a, err) {
			break
		}
	}
	stdin.Close()
	stdout.Close() // so that it is noticed if an evaluator ends before it has sent its greeting
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait() // the state shows how it ended
	}()
	if err := p.greeted(ctx); err != nil {
		p.kill()
		return nil, fmt.Errorf("%w%s", err, first(p.said.String()))
	}
	return p, nil
}

func (p *process) greeted(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.signal)()
	late := time.AfterFunc(startTime, p.signal)
	err := wire.ReadHello(p.read)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !late.Stop() && err != nil {
		return fmt.Errorf("%w within %v: %w", os.ErrDeadlineExceeded, startTime, err)
	}
	return err
}

// signal ends the process; it may be called at any time from any goroutine.
func (p *process) signal() { p.cmd.Process.Kill() } // it may have ended

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	p.signal()
	<-p.ended
	p.in.Close()
	p.out.Close()
}

// isOver reports whether the process has ended.
func (p *process) isOver() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// errNotAsked means that an evaluator ended before it received the question: the template cannot be the cause, so
// another evaluator can be asked.
var errNotAsked = errors.New("the evaluator had ended before it received the expression")

// errKilled means that an evaluator that may have read the question was killed: by an administrator, or by the kernel
// when the machine has run out of memory. An evaluation has no side effects, so it can be repeated.
var errKilled = errors.New("the process of the evaluation was killed twice from outside: the machine may be out of memory")

// evaluate requests one evaluation. sound reports whether the process can be used again.
func (p *process) evaluate(ctx context.Context, q expr.Script) (text string, sound bool, err error) {
	b, err := wire.Question(q)
	if err != nil {
		return "", true, err
	}
	defer context.AfterFunc(ctx, p.signal)()
	began := time.Now()
	text, err = p.ask(began, b)
	var wrong expr.ScriptError
	switch {
	case err == nil:
		// An evaluation that was interrupted, or nearly so, may have left a lot of garbage behind.
		return text, time.Since(began) < firstLook, nil
	case errors.As(err, &wrong):
		return "", time.Since(began) < firstLook, err
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.Is(err, errNotAsked):
		return "", false, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", false, expr.ScriptError("the evaluation took longer than 500ms and could not be interrupted: its process was killed")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		<-p.ended // it ended without our doing, or was killed from outside
		if p.endedBy(syscall.SIGKILL) {
			return "", false, errKilled
		}
	}
	p.kill() // kill also waits, so that the reason why the process ended is known
	return "", false, expr.ScriptError(p.obituary())
}

// ask sends a question and waits for the answer; the error is os.ErrDeadlineExceeded if there is none in time.
func (p *process) ask(began time.Time, question []byte) (string, error) {
	deadline := began.Add(wire.LastTime)
	p.in.SetWriteDeadline(deadline) // it is a pipe
	if _, err := p.in.Write(question); isGone(err) {
		return "", errNotAsked
	} else if err != nil {
		return "", err
	}
	if errors.Is(p.out.SetReadDeadline(began.Add(firstLook)), os.ErrNoDeadline) {
		return p.answerOrEnd()
	}
	for spentBefore := time.Duration(-1); ; {
		_, err := p.read.Peek(1)
		if err == nil {
			p.out.SetReadDeadline(deadline) // it is a pipe
			return wire.ReadAnswer(p.read)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return "", err
		}
		now, known := spent(p.cmd.Process.Pid)
		if spentBefore < 0 {
			spentBefore = now
		}
		took := time.Since(began)
		if known && took >= hardTime && now-spentBefore >= share || !known && took >= blindTime || took >= wire.LastTime {
			return "", os.ErrDeadlineExceeded
		}
		p.out.SetReadDeadline(time.Now().Add(max(nextLook, hardTime-took))) // it is a pipe
	}
}

// answerOrEnd waits for the answer on systems where pipes have no deadlines: if the evaluator is late, it is killed,
// which ends the wait.
func (p *process) answerOrEnd() (string, error) {
	var late atomic.Bool
	defer time.AfterFunc(blindTime, func() { late.Store(true); p.signal() }).Stop()
	text, err := wire.ReadAnswer(p.read)
	var wrong expr.ScriptError
	if err != nil && late.Load() && !errors.As(err, &wrong) {
		return "", os.ErrDeadlineExceeded
	}
	return text, err
}

// endedBy reports whether a signal ended the process, which must have ended.
func (p *process) endedBy(signal syscall.Signal) bool {
	if p.cmd.ProcessState == nil { // why it ended is unknown
		return false
	}
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == signal
}

// obituary describes why the process ended, if known.
func (p *process) obituary() string {
	said := p.said.String()
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(said, t) {
				return true
			}
		}
		return false
	}
	switch {
	case has("stack exceeds", "stack overflow"):
		return "the evaluation used more than 64 MiB of stack: its process was killed"
	case has("out of memory", "cannot allocate memory", "failed to reserve", "failed to create new OS thread"):
		return "the evaluation used more than 256 MiB of memory: its process was killed"
	case has("SIGXCPU"), p.endedBy(outOfTime):
		return "the evaluation took longer than 500ms and could not be interrupted: its process was killed"
	}
	return fmt.Sprintf("the process of the evaluation died: %v%s", p.cmd.ProcessState, first(said))
}

// first returns the first line of a process's output in a form that can follow a message.
func first(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

var _ io.Writer = (*tail)(nil)
