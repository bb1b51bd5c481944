package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"zerodag/internal/limits"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// run is one command.
type run struct {
	driver   *Driver
	settings settings
	command  operators.Command
	root     string
	project  Project
	name     string   // the container's name
	hidden   []string // folders of server data in the project, which the container must not see
	image    string   // the named or the built image
	ooms     int      // the value of limits.OOMKills before the run
	output   *limits.Output
	disk     *limits.Disk
	why      limits.Reason
	client   *exec.Cmd
	over     chan struct{} // closed when the client has ended
}

// step runs an engine command with its output in the task's log.
func (r *run) step(ctx context.Context, args []string, dir string) error {
	x := exec.CommandContext(ctx, r.settings.program, args...)
	said := &tail{to: r.output}
	x.Dir, x.Stdout, x.Stderr, x.WaitDelay = dir, said, said, time.Second
	if err := x.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if line := lastLine(said.String()); line != "" {
			return errors.New(line)
		}
		return err
	}
	return nil
}

// tail passes output on and keeps its end.
type tail struct {
	to   io.Writer
	last []byte
}

// maxTail is how much of the output is kept, in bytes.
const maxTail = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p[max(0, len(p)-maxTail):]...)
	t.last = t.last[max(0, len(t.last)-maxTail):]
	return t.to.Write(p)
}

func (t *tail) String() string { return string(t.last) }

// do runs the container from its beginning to its end, and removes it.
func (r *run) do(ctx context.Context) (operators.Exit, error) {
	names, env, lines, err := variables(r.command.Env)
	if err != nil {
		return operators.Exit{}, err
	}
	file := ""
	if len(lines) > 0 {
		if file, err = fileOfVariables(lines); err != nil {
			return operators.Exit{}, err
		}
		defer os.Remove(file)
	}
	said := &tail{to: r.output}
	r.ooms = limits.OOMKills()
	err = limits.Patiently(ctx, r.command.Stdout, func() error {
		r.client = exec.Command(r.settings.program, r.arguments(r.image, names, file)...)
		r.client.Env, r.client.Stdout, r.client.Stderr = env, said, said
		r.client.SysProcAttr = apart() // a Ctrl-C must not reach the client
		r.client.WaitDelay = r.driver.options.Grace
		return r.client.Start()
	})
	if err != nil {
		return operators.Exit{}, fmt.Errorf("run %s: %w", r.settings.program, err)
	}
	lineage.Set(r.client.Process.Pid, lineage.Client) // the client's monitors are not a command's leftovers
	defer r.remove()
	stop := context.AfterFunc(ctx, func() { r.stop(ctx) })
	watched := make(chan struct{})
	go func() { defer close(watched); r.watch() }()
	err = r.client.Wait()
	stop()
	close(r.over)
	<-watched
	return r.exit(ctx, said.String(), err)
}

// ranOutOfMemory reports whether a command in a container was killed for lack of memory, if the kernel reports
// it.
func (r *run) ranOutOfMemory(code int) bool {
	return code == 128+int(syscall.SIGKILL) && r.command.Sandbox.Memory > 0 && limits.OOMKills() > r.ooms
}

// exit returns how the container ended. It queries the engine before the container is removed.
func (r *run) exit(ctx context.Context, said string, err error) (operators.Exit, error) {
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) && !errors.Is(err, exec.ErrWaitDelay) {
		return operators.Exit{}, fmt.Errorf("run %s: %w", r.settings.program, err)
	}
	if r.disk.FullAtEnd() {
		r.why.Set(operators.TooMuchDisk(r.command.Sandbox.Disk))
	}
	code := 0
	if ended != nil {
		code = codeOf(ended.ProcessState)
	}
	if code == 0 || ctx.Err() != nil || r.why.Get() != "" {
		return operators.Exit{Code: code, Why: r.why.Get()}, nil //nolint:nilerr // the exit code shows how the command ended
	}
	if why := firstProcess().FindStringSubmatch(said); why != nil {
		return operators.Exit{}, r.notStarted(why[1])
	}
	state, err := r.state()
	if err != nil || !state.ran {
		return operators.Exit{}, r.notRun(code, said, state.trouble)
	}
	// Engines report it only for a container's first process, or not at all.
	if state.outOfMemory || r.ranOutOfMemory(code) {
		return operators.Exit{Code: code, Why: operators.OutOfMemory(r.command.Sandbox.Memory)}, nil
	}
	if signal := syscall.Signal(code - 128); slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSEGV, syscall.SIGABRT}, signal) {
		r.output.Say("the command was ended by signal %d (%v), or exited with the code that stands for it", signal, signal)
	}
	return operators.Exit{Code: code}, nil
}

func codeOf(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// state is a container's state according to the engine.
type state struct {
	outOfMemory bool
	ran         bool   // its program was started
	trouble     string // why it was not started
}

func (r *run) state() (s state, err error) {
	out, err := ask(context.Background(), r.settings.program, "inspect", "--type", "container",
		"--format", "{{.State.OOMKilled}} {{.State.Status}} {{.State.Error}}", r.name)
	if err != nil {
		return s, err
	}
	words := strings.SplitN(strings.TrimSpace(out), " ", 3)
	if len(words) < 2 {
		return s, fmt.Errorf("%s inspect: unexpected output %q", r.settings.program, out)
	}
	s.outOfMemory = words[0] == "true"
	if len(words) > 2 {
		s.trouble = words[2]
	}
	s.ran = words[1] != "created" && words[1] != "initialized" && (s.trouble == "" || s.outOfMemory)
	return s, nil
}

// notRun explains why the engine did not run the command: in that case, 125 to 127 are the engine's own codes.
func (r *run) notRun(code int, said, trouble string) error {
	text := engineText(said)
	if trouble != "" {
		text = trouble
	}
	program := r.command.Args[0]
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(said+trouble, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has("Cannot connect to the Docker daemon", "permission denied while trying to connect", "error during connect"):
		return fmt.Errorf("the docker engine cannot be reached: %s", text)
	case code == 127 || has("executable file not found", "no such file or directory: unknown", "stat "+program+":"):
		return r.notStarted("no such file")
	case has("exec format error"):
		return r.notStarted("exec format error")
	case has("pull access denied", "manifest unknown", "not found: manifest", "repository does not exist", "failed to resolve reference", "No such image",
		"initializing source", "reading manifest", "short-name"):
		return operators.Failf("the image %s cannot be pulled: %s", r.image, text)
	case code == 126:
		return r.notStarted(text)
	}
	return operators.Failf("docker could not run the command (code %d): %s", code, text)
}

// firstProcess matches the output of a container's first process, docker's or podman's, if it cannot start the command:
// in that case, it ends with its own exit code.
var firstProcess = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:\[FATAL tini \(\d+\)\] exec .* failed|ERROR \(catatonit:\d+\): failed to exec pid1): (.*)\s*\z`)
})

// notStarted returns the error for a program that the image cannot run.
func (r *run) notStarted(why string) error {
	program := r.command.Args[0]
	switch text := strings.ToLower(why); {
	case strings.Contains(text, "no such file"):
		return operators.Failf("the image %s has no %s, which this command needs: choose another image (docker: {image: …})", r.image, program)
	case strings.Contains(text, "exec format error"):
		return operators.Failf("%s in the image %s cannot run on this machine: it is built for a different architecture, or is a script without an interpreter line (#!)", program, r.image)
	}
	return operators.Failf("%s in the image %s cannot run: %s", program, r.image, why)
}

// engineText finds the client's message in its output: the line that begins with its name, or else the last line that
// is not a hint.
func engineText(said string) string {
	text := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "See '") || strings.HasPrefix(line, "Run '") {
			continue
		}
		for _, start := range []string{"docker: ", "Error: "} {
			if rest, found := strings.CutPrefix(line, start); found {
				return strings.TrimPrefix(rest, "Error response from daemon: ")
			}
		}
		text = line
	}
	return text
}

// remove removes the container, no matter what state it is in.
func (r *run) remove() {
	ask(context.Background(), r.settings.program, "rm", "-f", "-v", r.name) // a missing container is harmless
}
