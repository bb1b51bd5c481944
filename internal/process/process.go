// Package process runs the commands of tasks as child processes of this one: the embedded
// driver of operators.Commands.
//
// The local server and the command line call it. It must never leave a process behind:
// when a command is over, everything that it started is gone, also what moved to another
// session. (What cleared its environment as well as changed its session is not found.)
// It isolates nothing: a command may do what the user may do who runs it.
package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/limits"
	"zerodag/internal/scratch"
	"zerodag/operators"
)

// defaultGrace is the time between asking a command to end and forcing it.
const defaultGrace = 5 * time.Second

// Options of a Driver.
type Options struct {
	Grace   time.Duration // between TERM and KILL; 0 is 5 s
	KillNow bool          // a cancelled command is not asked to end, it is killed
	// Name tells the commands of this driver from those of others, over restarts of the
	// program; "" is a random one.
	Name string
	User *User // whom commands run as; nil is who this program runs as
}

// mostProcesses is how many processes a command of another user may have that asks for no
// number: what it forks is bounded anyhow.
const mostProcesses = 1024

// User is another user of this machine, whom commands run as. Only root can have one.
type User struct {
	ID, Group  int
	Name, Home string
}

// Driver starts commands; one is enough for a program. It is safe for concurrent use.
type Driver struct {
	options Options
	name    string // of this driver, in the mark of its commands

	null    func() (*os.File, error) // stdin of every command
	buffers sync.Pool

	mu      sync.Mutex
	count   int          // commands started so far
	ooms    int          // processes that the kernel had ended for memory when that was last looked at
	running map[int]bool // process ids of commands
}

// New makes a Driver. On Linux the program becomes the parent of all orphans below it.
func New(o Options) *Driver {
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	adoptOrphans()
	return &Driver{options: o, ooms: limits.OOMKills(), name: cmp.Or(o.Name, rand.Text()), running: map[int]bool{},
		null:    sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) }),
		buffers: sync.Pool{New: func() any { return new([32 << 10]byte) }}}
}

// Reclaim ends what commands of a driver of the same name left running when their program
// was killed, and says how many processes that were. It is called before the first Run.
func (d *Driver) Reclaim() int {
	total := 0
	for {
		found := d.freeze(func(mark string) bool { return strings.HasPrefix(mark, d.name+"-") })
		if len(found) == 0 {
			return total
		}
		total += len(found)
		endAll(found)
	}
}

// In returns Commands that run in the project's folder root, an absolute path.
func (d *Driver) In(root string) operators.Commands { return commands{d, root} }

type commands struct {
	driver *Driver
	root   string
}

// Run implements operators.Commands.
func (c commands) Run(ctx context.Context, command operators.Command) (operators.Exit, error) {
	if err := ctx.Err(); err != nil {
		return operators.Exit{}, err
	}
	s := c.driver.scratch(c.root, command)
	if err := s.Fill(); err != nil {
		return operators.Exit{}, fmt.Errorf("prepare scratch folder: %w", err)
	}
	defer s.Remove()
	if u := c.driver.options.User; u != nil {
		if err := scratch.Give(c.root, u.ID, u.Group); err != nil {
			return operators.Exit{}, fmt.Errorf("give the workspace to user %s: %w", u.Name, err)
		}
	}
	exit, err := c.driver.run(ctx, c.root, command)
	if err != nil || exit.Why != "" {
		return exit, err
	}
	if exit.Outputs, err = s.Outputs(); err != nil {
		return operators.Exit{}, fmt.Errorf("read scratch folder: %w", err)
	}
	return exit, nil
}

// scratch is the folder of a command: one that runs as another user has no rights of ours.
func (d *Driver) scratch(root string, c operators.Command) interface {
	Fill() error
	Outputs() (map[string][]byte, error)
	Remove()
} {
	if d.options.User != nil {
		return scratch.Strict{Root: root, Command: c}
	}
	return scratch.Folder{Root: root, Command: c}
}

// Stop implements operators.Commands: nothing is ever pending here.
func (c commands) Stop(context.Context, *param.Map) error { return nil }

// markName is the variable by which the processes of a command are found again. Its value
// lists the commands around it too, for a command that runs this program.
const markName = "ZERODAG_COMMAND"

func (d *Driver) mark() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	return d.name + "-" + strconv.Itoa(d.count)
}

func (d *Driver) started(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[pid] = true
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

// environment is the host's, then what belongs to the run; of one name the last counts.
func (d *Driver) environment(mark, dir string, own []string) []string {
	if around := os.Getenv(markName); around != "" {
		mark = around + "," + mark
	}
	env := append(os.Environ(), "PWD="+dir)
	if u := d.options.User; u != nil {
		env = append(env, "HOME="+u.Home, "USER="+u.Name, "LOGNAME="+u.Name)
	}
	env = append(append(env, own...), markName+"="+mark)
	last := make(map[string]int, len(env))
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	theirs := len(os.Environ())
	kept := env[:0]
	for i, pair := range env {
		name, _, found := strings.Cut(pair, "=")
		if found && last[name] == i && (i >= theirs || !d.keeps(name)) {
			kept = append(kept, pair)
		}
	}
	return kept
}

// keeps says whether a variable of this program's environment is kept from commands: the key
// of all secrets and, from another user, what configures this program.
func (d *Driver) keeps(name string) bool {
	return name == "ZERODAG_SECRET_KEY" || d.options.User != nil && (strings.HasPrefix(name, "ZERODAG_") || strings.HasPrefix(name, "DIGDAG_") || strings.HasPrefix(name, "SUDO_") || name == "XDG_CONFIG_HOME")
}
