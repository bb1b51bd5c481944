// Package process runs the commands of tasks as child processes of this one: the embedded driver for operators.Commands.
//
// The local server and the command line call it. It must never leave a process behind: when a command has ended,
// everything that it started is gone, including processes that moved to another session and cleared their environment.
// A process that was allowed to change its mark, and so cannot be distinguished from another command's processes, is
// gone once all commands that were running when it was first seen have ended. Unless files are hidden (Options.Hide), a
// command may do whatever its user may do.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/landlock"
	"zerodag/internal/limits"
	"zerodag/internal/lineage"
	"zerodag/internal/scratch"
	"zerodag/operators"
)

// defaultGrace is the time between asking a command to end and forcing it.
const defaultGrace = 5 * time.Second

// Options holds the settings of a Driver.
type Options struct {
	Grace   time.Duration // between TERM and KILL; 0 is 5 s
	KillNow bool          // a canceled command is killed instead of being asked to end
	// Cut, once closed, gives canceled commands no more time: they are killed. nil means that this never happens.
	Cut <-chan struct{}
	// Name distinguishes this driver's commands from those of others, across restarts of the program; "" means a random
	// name.
	Name string
	// Hide, unless nil, hides this program's files from commands, except for their own workspaces. It does not affect
	// commands that run as another user, who has no access to the files anyway.
	Hide *landlock.Rules
	// Alone means that this program has no children except this driver's, container-engine clients and copies of itself:
	// any other process that it adopts was left behind by a command.
	Alone       bool
	Environment lineage.Environment // the variables of this program that commands get
}

// mostProcesses is the process limit for a command that runs as another user and sets none: its forks are always
// limited.
const mostProcesses = 1024

// User is another user of this machine that commands run as. Only root can have one.
type User struct {
	ID, Group int
	Name      string
	Home      string // "" means that the workspace is the home folder
}

// Driver starts commands; one is enough per program. It is safe for concurrent use.
type Driver struct {
	options Options
	name    string // the name of this driver, in the marks of its commands

	base    lineage.Mark      // the base of the marks of this driver's commands: their number is added
	theirs  func() *variables // for commands that run as this program's user
	foreign func() *variables // for commands that run as another user
	noHome  bool              // the home folder of this program is hidden: a command's home is its workspace
	starts  chan struct{}     // one for each running command, limited by the available descriptors
	buffers sync.Pool

	mu      sync.Mutex
	count   int          // how many commands have been started so far
	ooms    int          // how many processes the kernel had killed for lack of memory by the last check
	running map[int]bool // the process IDs of commands
	live    map[int]bool // the numbers of commands whose sweep has not ended
	strange map[int]*stranger
}

// New returns a Driver. On Linux, the program becomes the parent of all orphans below it.
func New(o Options) *Driver {
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	adoptOrphans()
	keepDescriptors()
	name := cmp.Or(o.Name, rand.Text())
	d := &Driver{options: o, ooms: limits.OOMKills(), name: name, base: baseOf(name), starts: make(chan struct{}, limits.AtOnce()),
		running: map[int]bool{}, live: map[int]bool{}, strange: map[int]*stranger{},
		buffers: sync.Pool{New: func() any { return new([32 << 10]byte) }}}
	d.theirs = sync.OnceValue(func() *variables { return d.given(os.Environ(), false) })
	d.foreign = sync.OnceValue(func() *variables { return d.given(os.Environ(), true) })
	if home, err := os.UserHomeDir(); err == nil && o.Hide != nil {
		d.noHome = o.Hide.Hides(home)
	}
	d.join()
	return d
}

// Reclaim ends the processes that commands of a driver with the same name left running when their program was killed,
// and returns how many there were. It must be called before the first Run.
func (d *Driver) Reclaim() int {
	total := 0
	for {
		found := d.freezeMarked(func(mark string) bool { return strings.HasPrefix(mark, d.name+"-") })
		if len(found) == 0 {
			return total
		}
		total += len(found)
		endAll(found)
	}
}

// In returns Commands that run in the project's folder root, an absolute path, as this program's user.
func (d *Driver) In(root string) operators.Commands { return d.As(nil, root) }

// As returns Commands that run in the project's folder root, an absolute path, as user u; nil means this program's user.
func (d *Driver) As(u *User, root string) operators.Commands { return commands{d, u, root} }

type commands struct {
	driver *Driver
	user   *User
	root   string
}

// Run implements operators.Commands.
func (c commands) Run(ctx context.Context, command operators.Command) (operators.Exit, error) {
	if err := ctx.Err(); err != nil {
		return operators.Exit{}, err
	}
	select {
	case c.driver.starts <- struct{}{}:
		defer func() { <-c.driver.starts }()
	case <-ctx.Done():
		return operators.Exit{}, ctx.Err()
	}
	s := c.scratch(command)
	if err := limits.Patiently(ctx, command.Stdout, s.Fill); err != nil {
		return operators.Exit{}, fmt.Errorf("prepare scratch folder: %w", err)
	}
	defer s.Remove()
	if u := c.user; u != nil {
		if err := limits.Patiently(ctx, command.Stdout, func() error { return scratch.Give(c.root, u.ID, u.Group) }); err != nil {
			return operators.Exit{}, fmt.Errorf("change the owner of the workspace to %s: %w", u.Name, err)
		}
	}
	exit, err := c.run(ctx, command)
	if err != nil || exit.Why != "" {
		return exit, err
	}
	err = limits.Patiently(ctx, command.Stdout, func() (err error) { exit.Outputs, err = s.Outputs(); return err })
	if err != nil {
		return operators.Exit{}, fmt.Errorf("read scratch folder: %w", err)
	}
	return exit, nil
}

// scratch returns access to a command's folder: a command that runs as another user does not have our permissions.
func (c commands) scratch(command operators.Command) interface {
	Fill() error
	Outputs() (map[string][]byte, error)
	Remove()
} {
	if c.user != nil {
		return scratch.Strict{Root: c.root, Command: command}
	}
	return scratch.Folder{Root: c.root, Command: command}
}

// Stop implements operators.Commands: nothing is ever pending here.
func (c commands) Stop(context.Context, *param.Map) error { return nil }

// started records a command, and marks it for all processes that it is about to start.
func (d *Driver) started(pid, number int) {
	d.mu.Lock()
	d.running[pid] = true
	d.mu.Unlock()
	if lineage.Set(pid, d.base+lineage.Mark(number)) == nil { // if that is forbidden, the environment has the mark
		d.markEarly(pid, number)
	}
}

func (d *Driver) ended(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, pid)
}

func (d *Driver) isRunning(pid int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[pid]
}
