// Package docker runs the commands of tasks in containers of an engine on this machine, through its command line: a
// driver of operators.Commands.
//
// Package executors calls it. A command sees its project's folder, its own variables and the image, and nothing else on
// the machine unless the task's options expose it. No container may be left behind; Reclaim removes the containers of a
// killed program.
package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/limits"
	"zerodag/internal/scratch"
	"zerodag/operators"
)

// Time limits of the driver.
const (
	defaultGrace = 5 * time.Second
	askTime      = 15 * time.Second // how long an engine may take to respond to a query
	knownTime    = 10 * time.Second // how long an engine that has responded is not queried again
)

// mostProcesses is the maximum number of processes of a command that does not set a limit.
const mostProcesses = 1024

// Options of a Driver.
type Options struct {
	Grace   time.Duration // between TERM and KILL; 0 means 5 s
	KillNow bool          // a canceled command is killed at once
	// Cut, once closed, ends the grace time of canceled commands: they are killed. If it is nil, that never happens.
	Cut <-chan struct{}
	// Name distinguishes this driver's containers from those of others, across restarts of the program; "" means a random
	// name.
	Name string
	// NoOptions refuses run_options, build_options and programs with other names: with them, a task could do anything,
	// even on the machine itself.
	NoOptions bool
}

// Driver runs containers; a program needs only one. It is safe for concurrent use.
type Driver struct {
	options Options
	name    string

	mu     sync.Mutex
	known  map[string]time.Time   // when an engine last responded, by program
	builds map[string]*sync.Mutex // images that are being built, by name
}

// New creates a Driver. It does not query the engine yet.
func New(o Options) *Driver {
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	return &Driver{options: o, name: cmp.Or(o.Name, rand.Text()), known: map[string]time.Time{}, builds: map[string]*sync.Mutex{}}
}

// Project identifies the project whose commands run: projects do not share built images.
type Project struct {
	ID       int64
	Revision string
}

// In returns Commands that run in the project's folder root, an absolute path.
func (d *Driver) In(root string, p Project) operators.Commands { return commands{d, root, p} }

type commands struct {
	driver  *Driver
	root    string
	project Project
}

// Stop implements operators.Commands: nothing is ever pending here.
func (c commands) Stop(context.Context, *param.Map) error { return nil }

// Run implements operators.Commands.
func (c commands) Run(ctx context.Context, command operators.Command) (operators.Exit, error) {
	if err := ctx.Err(); err != nil {
		return operators.Exit{}, err
	}
	s, err := c.driver.read(command.Sandbox.Docker)
	if err != nil {
		return operators.Exit{}, err
	}
	if info, err := os.Stat(filepath.Join(c.root, filepath.FromSlash(command.Dir))); err != nil || !info.IsDir() {
		return operators.Exit{}, fmt.Errorf("Cannot run program %q (in directory %q): there is no such directory", command.Args[0], command.Dir) // as for processes
	}
	if err := c.driver.reach(ctx, s.program); err != nil {
		return operators.Exit{}, err
	}
	r := &run{driver: c.driver, settings: s, command: command, root: c.root, project: c.project, name: "zerodag-" + strings.ToLower(rand.Text()),
		disk: limits.NewDisk(c.root, command.Sandbox.Disk), over: make(chan struct{})}
	r.output = limits.NewOutput(command.Stdout, command.Sandbox.Output, r.tooMuchOutput)
	if err := r.prepare(ctx); err != nil {
		return operators.Exit{}, err
	}
	folder := scratch.Strict{Root: c.root, Command: command, Open: s.ownUser()}
	if err := folder.Fill(); err != nil {
		return operators.Exit{}, fmt.Errorf("prepare scratch folder: %w", err)
	}
	defer folder.Remove()
	exit, err := r.do(ctx)
	if err != nil || exit.Why != "" {
		return exit, err
	}
	if exit.Outputs, err = folder.Outputs(); err != nil {
		return operators.Exit{}, fmt.Errorf("read scratch folder: %w", err)
	}
	return exit, nil
}

// reach makes sure that an engine is running.
func (d *Driver) reach(ctx context.Context, program string) error {
	d.mu.Lock()
	last, known := d.known[program]
	d.mu.Unlock()
	if known && time.Since(last) < knownTime {
		return nil
	}
	if err := info(ctx, program); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[program] = time.Now()
	return nil
}

// info tests whether an engine is running. An old client reports a missing engine with exit code 0.
func info(ctx context.Context, program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("the docker engine cannot be reached: there is no program %s on the PATH: install the engine, or remove `docker:` to run the command as a process", program)
	}
	out, err := ask(ctx, program, "info")
	why := lastLine(out)
	if err == nil && !strings.Contains(out, "Cannot connect to the Docker daemon") {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the docker engine cannot be reached: start it, or remove `docker:` to run the command as a process: %s", cmp.Or(why, fmt.Sprint(err)))
}

// ask runs a short engine command and returns its whole output.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	x := exec.CommandContext(ctx, program, args...)
	x.WaitDelay = time.Second
	out, err := x.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s %s: %w: %s", program, args[0], err, lastLine(string(out)))
	}
	return string(out), err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// label is the label of zerodag's containers; its value is Options.Name.
const label = "zerodag.driver"

// Reclaim removes the containers that a driver with the same name left behind when its program was killed, and returns
// their number. It is called before the first Run.
func (d *Driver) Reclaim(ctx context.Context) (int, error) {
	total := 0
	for _, program := range []string{"docker", "podman"} {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		if info(ctx, program) != nil {
			continue // no containers run without an engine
		}
		out, err := ask(ctx, program, "ps", "-a", "-q", "--filter", "label="+label+"="+d.name)
		ids := strings.Fields(out)
		if err == nil && len(ids) > 0 {
			_, err = ask(ctx, program, append([]string{"rm", "-f", "-v"}, ids...)...)
		}
		if err != nil {
			return total, fmt.Errorf("remove the containers of an earlier run: %w", err)
		}
		total += len(ids)
	}
	return total, nil
}

// workdir returns the command's folder in the container, which has the same path as outside.
func workdir(root, dir string) string { return path.Join(filepath.ToSlash(root), dir) }
