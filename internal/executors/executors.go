// Package executors chooses where a command runs on this machine, as a process or in docker, and within which limits:
// by the task's settings (`sandbox:`, `docker:`), then by those of the server.
//
// `zerodag server`, `zerodag scheduler` and `zerodag run` share it. It must not contain rules about how to run a
// command: its two drivers do.
package executors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/docker"
	"zerodag/internal/landlock"
	"zerodag/internal/limits"
	"zerodag/internal/lineage"
	"zerodag/internal/placement"
	"zerodag/internal/process"
	"zerodag/internal/scratch"
	"zerodag/operators"
)

// Settings holds an administrator's choices; zero values are usable.
type Settings struct {
	Default string   // operators.InProcess or InDocker, for commands whose task sets nothing; "" means InProcess
	Allow   []string // executors that commands may use; empty: both
	Image   string   // for commands in docker that name no image
	// Options lets tasks pass their own docker options. nil allows that if processes are allowed, which are unrestricted
	// anyway.
	Options *bool
	// User is the user that processes run as: a name, or a range of user IDs ("70000-99999"), which gives each site its
	// own ID. "" means this program's user.
	User string
	// Isolation decides whether files of this program are hidden from processes; "" means IsolateNone.
	Isolation string
	Hidden    []string // absolute paths of these files and folders
	Limits    Limits   // for commands that request none
	Most      Limits   // the maximum that tasks may request; zero means the whole machine
	Name      string   // the commands' name, by which they are found after a crash; "" means a random name
	KillNow   bool     // a canceled command is killed at once
	Alone     bool     // see process.Options
	OneUser   string   // why PerSite found no users for sites
	// Environment selects the variables of this program that plain processes get.
	Environment lineage.Environment
}

// Values of Settings.Isolation.
const (
	IsolateNone = "none"
	// IsolateAuto hides the files if the system can do so without side effects: see landlock.Rules.Beside.
	IsolateAuto = "auto"
	// IsolateAlways hides the files, and refuses to start if the system cannot.
	IsolateAlways = "required"
)

// Limits holds the limits for commands; 0 means none, or the driver's own limit.
type Limits struct {
	Time      time.Duration
	Processes int
	Memory    int64 // bytes
	Disk      int64 // bytes
	Output    int64 // bytes
}

// Executors run commands. They are safe for concurrent use.
type Executors struct {
	settings Settings
	table    placement.Table
	process  *process.Driver
	docker   *docker.Driver
	exposed  string
	clean    <-chan struct{} // closed when containers of earlier programs are gone; nil: nothing reclaims them
	cuts     *cuts
	users    users
}

// In creates a run's Commands, in its project's folder root.
type In func(root string, id operators.Identity) operators.Commands

// here lists the executors on this machine.
func here() []string { return []string{operators.InProcess, operators.InDocker} }

// New creates Executors, or returns an error that names the invalid setting.
func New(s Settings) (*Executors, error) {
	if len(s.Allow) == 0 {
		s.Allow = here()
	}
	for _, name := range s.Allow {
		if !slices.Contains(here(), name) {
			return nil, fmt.Errorf("configuration key agent.command_executor.allow: unknown value %q: use %s", name, strings.Join(here(), ", "))
		}
	}
	if s.Default == "" {
		s.Default = s.Allow[0]
		if slices.Contains(s.Allow, operators.InProcess) {
			s.Default = operators.InProcess
		}
	}
	if !slices.Contains(s.Allow, s.Default) {
		return nil, fmt.Errorf("configuration key agent.command_executor.type is %s, which agent.command_executor.allow does not allow", s.Default)
	}
	free := slices.Contains(s.Allow, operators.InProcess)
	if s.Options != nil {
		free = *s.Options
	}
	s.Limits = s.Limits.within(s.Most)
	s.Most.Memory = cmp.Or(s.Most.Memory, limits.Memory())
	s.Most.Processes = cmp.Or(s.Most.Processes, limits.Processes())
	users, err := usersOf(s.User)
	if err != nil {
		return nil, err
	}
	hide, exposed, err := s.hide()
	if err != nil {
		return nil, err
	}
	table := placement.Table{Place: "on this machine", Known: here(), Allowed: s.Allow, Default: s.Default, NoRoles: true,
		Hints: map[string]string{operators.InProcess: "agent.command_executor.allow", operators.InDocker: "agent.command_executor.allow"}}
	cuts := &cuts{cut: make(chan struct{}), stops: map[int]context.CancelFunc{}}
	return &Executors{settings: s, table: table, cuts: cuts, users: users, exposed: exposed,
		process: process.New(process.Options{KillNow: s.KillNow, Name: s.Name, Hide: hide, Cut: cuts.cut, Alone: s.Alone, Environment: s.Environment}),
		docker:  docker.New(docker.Options{KillNow: s.KillNow, Cut: cuts.cut, Name: s.Name, NoOptions: !free})}, nil
}

// Exposed explains why processes can reach the files of this program that should be hidden from them; "" if they
// cannot, or if nothing should be hidden.
func (e *Executors) Exposed() string { return e.exposed }

// hide returns the rules that hide this program's files from processes, or the reason why they are not hidden.
func (s Settings) hide() (_ *landlock.Rules, exposed string, err error) {
	if s.Isolation == "" || s.Isolation == IsolateNone || s.User != "" || len(s.Hidden) == 0 || !slices.Contains(s.Allow, operators.InProcess) {
		return nil, "", nil
	}
	rules, err := landlock.New(s.Hidden...)
	if err = errors.Join(landlock.Supported(), err); err != nil {
		exposed = err.Error()
	}
	beside := rules.Beside()
	switch {
	case exposed != "" && s.Isolation == IsolateAlways:
		return nil, "", errors.New("configuration key agent.command_executor.process.isolation: " + exposed)
	case exposed != "":
		return nil, exposed, nil
	case s.Isolation == IsolateAuto && os.Getuid() == 0:
		return nil, cmp.Or(s.OneUser, "the server runs as root"), nil
	case s.Isolation == IsolateAuto && beside != "":
		return nil, "this user may create files in " + beside + ", which the commands could then not use", nil
	}
	return &rules, "", nil
}

// Reclaim ends the processes that commands with the same name left running when their program was killed, and returns
// their number. Containers are removed in the background, because an engine may be slow: told gets their number, and
// commands in docker wait for the removal. Reclaim must be called before the first command.
func (e *Executors) Reclaim(ctx context.Context, told func(containers int, err error)) int {
	clean := make(chan struct{})
	e.clean = clean
	go func() {
		defer close(clean)
		told(e.docker.Reclaim(ctx))
	}()
	return e.process.Reclaim()
}

// PerSite returns the settings for a server whose users have different rights: if the server may change users and does
// not hide its files from commands in another way, each site's processes run as a separate user. temp is the folder in
// which workspaces are then created.
func (s Settings) PerSite(temp string) Settings {
	processes := len(s.Allow) == 0 || slices.Contains(s.Allow, operators.InProcess)
	if !processes || s.User != "" || s.Isolation != IsolateAuto {
		return s
	}
	first, last, _ := rangeOf(UserPerSite)
	err := process.MayBecome(int(first), int(last))
	if err == nil {
		err = process.Runs(temp)
	}
	if err == nil {
		s.User = UserPerSite
	} else {
		s.OneUser = err.Error()
	}
	return s
}

// Usable explains why the users that processes run as cannot enter a folder.
func (e *Executors) Usable(folder string) error {
	if e.settings.User == "" {
		return nil
	}
	return process.Usable(folder)
}

// Give transfers a run's folder to the user that its processes run as.
func (e *Executors) Give(root string, id operators.Identity) error {
	user, err := e.users.of(id.SiteID)
	if user == nil || err != nil {
		return err
	}
	return scratch.Give(root, user.ID, user.Group)
}

// In creates the Commands for a run.
func (e *Executors) In(root string, id operators.Identity) operators.Commands {
	return commands{e, root, id}
}

type commands struct {
	*Executors
	root string
	id   operators.Identity
}

// Run implements operators.Commands.
func (c commands) Run(ctx context.Context, command operators.Command) (operators.Exit, error) {
	ctx, leave, err := c.cuts.enter(ctx)
	if err != nil {
		return operators.Exit{}, err
	}
	defer leave()
	name, err := c.table.Choose(command.Sandbox)
	if err != nil {
		return operators.Exit{}, err
	}
	command.Sandbox = c.settings.limited(command.Sandbox)
	if err := c.settings.Most.allow(command.Sandbox); err != nil {
		return operators.Exit{}, err
	}
	if name == operators.InProcess {
		user, err := c.users.of(c.id.SiteID)
		if err != nil {
			return operators.Exit{}, err
		}
		return c.process.As(user, c.root).Run(ctx, command)
	}
	if c.clean != nil {
		select {
		case <-c.clean:
		case <-ctx.Done():
			return operators.Exit{}, ctx.Err()
		}
	}
	command.Sandbox.Docker = c.settings.imaged(command.Sandbox.Docker)
	return c.docker.In(c.root, docker.Project{ID: c.id.ProjectID, Revision: c.id.Revision}).Run(ctx, command)
}

// Stop implements operators.Commands: no driver here leaves a command pending.
func (c commands) Stop(context.Context, *param.Map) error { return nil }

// limited adds the server's limits if the task has none.
func (s Settings) limited(b operators.Sandbox) operators.Sandbox {
	b.Time = cmp.Or(b.Time, s.Limits.Time)
	b.Processes = cmp.Or(b.Processes, s.Limits.Processes)
	b.Memory = cmp.Or(b.Memory, s.Limits.Memory)
	b.Disk = cmp.Or(b.Disk, s.Limits.Disk)
	b.Output = cmp.Or(b.Output, s.Limits.Output)
	return b
}

// within returns the limits for commands that request none: a missing limit becomes the maximum that they may request.
func (m Limits) within(most Limits) Limits {
	return Limits{Time: cmp.Or(m.Time, most.Time), Processes: cmp.Or(m.Processes, most.Processes), Memory: cmp.Or(m.Memory, most.Memory),
		Disk: cmp.Or(m.Disk, most.Disk), Output: cmp.Or(m.Output, most.Output)}
}

// allow returns an error if a command requests more than this server allows.
func (m Limits) allow(b operators.Sandbox) error {
	for _, one := range []struct {
		name        string
		asked, most int64
		text        func(int64) string
	}{
		{"memory", b.Memory, m.Memory, sizeText}, {"disk", b.Disk, m.Disk, sizeText}, {"output", b.Output, m.Output, sizeText},
		{"processes", int64(b.Processes), int64(m.Processes), func(n int64) string { return strconv.FormatInt(n, 10) }},
		{"timeout", int64(b.Time), int64(m.Time), func(n int64) string { return time.Duration(n).String() }},
	} {
		if one.most > 0 && one.asked > one.most {
			return param.Errorf("sandbox: %s of %s exceeds the %s that this server allows (agent.command_executor.ceilings.%s)", one.name, one.text(one.asked), one.text(one.most), one.name)
		}
	}
	return nil
}

// sizeText formats a number of bytes as in settings.
func sizeText(n int64) string {
	for i, unit := range []string{"t", "g", "m", "k"} {
		if size := int64(1) << (40 - 10*i); n >= size && n%size == 0 {
			return strconv.FormatInt(n/size, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// imaged adds the server's image if the task names none.
func (s Settings) imaged(tree *param.Map) *param.Map {
	if tree == nil {
		tree = param.New()
	}
	if s.Image != "" && !tree.Has("image") {
		tree = tree.Clone()
		tree.Set("image", s.Image)
	}
	return tree
}
