// Package process runs the commands of tasks as child processes of this one: the embedded
// driver of operators.Commands.
//
// The local server and the command line call it. It must never leave a process behind:
// when a command is over, everything that it started is gone, also what moved to another
// session. (What cleared its environment as well as changed its session is not found.)
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
}

// Driver starts commands; one is enough for a program. It is safe for concurrent use.
type Driver struct {
	options Options
	name    string // of this driver, in the mark of its commands

	null    func() (*os.File, error) // stdin of every command
	buffers sync.Pool

	mu      sync.Mutex
	count   int          // commands started so far
	running map[int]bool // process ids of commands
}

// New makes a Driver. On Linux the program becomes the parent of all orphans below it.
func New(o Options) *Driver {
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	adoptOrphans()
	return &Driver{options: o, name: cmp.Or(o.Name, rand.Text()), running: map[int]bool{},
		null:    sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) }),
		buffers: sync.Pool{New: func() any { return new([32 << 10]byte) }}}
}

// Reclaim ends what commands of a driver of the same name left running when their program
// was killed, and says how many processes that were. It is called before the first Run.
func (d *Driver) Reclaim() int {
	total := 0
	for {
		found := marked(func(mark string) bool { return strings.HasPrefix(mark, d.name+"-") })
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
	s := scratch{root: c.root, command: command}
	if err := s.fill(); err != nil {
		return operators.Exit{}, fmt.Errorf("prepare scratch folder: %w", err)
	}
	defer s.remove()
	code, err := c.driver.run(ctx, c.root, command)
	if err != nil {
		return operators.Exit{}, err
	}
	outputs, err := s.outputs()
	if err != nil {
		return operators.Exit{}, fmt.Errorf("read scratch folder: %w", err)
	}
	return operators.Exit{Code: code, Outputs: outputs}, nil
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
func environment(mark, dir string, own []string) []string {
	if around := os.Getenv(markName); around != "" {
		mark = around + "," + mark
	}
	env := append(append(append(os.Environ(), "PWD="+dir), own...), markName+"="+mark)
	last := make(map[string]int, len(env))
	for i, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		last[name] = i
	}
	kept := env[:0]
	for i, pair := range env {
		name, _, found := strings.Cut(pair, "=")
		if found && last[name] == i {
			kept = append(kept, pair)
		}
	}
	return kept
}
