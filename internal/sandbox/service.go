package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"zerodag/engine"
	"zerodag/internal/host"
)

// Options are what a Service is made of.
type Options struct {
	Commands Commands
	Work     Work
	Runners  Registry
	Liveness Liveness
	Fences   Fences
	Launcher Launcher
	// Wake has a task that waits run now: see host.Host.Wake.
	Wake func(ctx context.Context, attempt int64, run engine.Run) error
	// Attempt reads an attempt: when it is over, its runners leave at once.
	Attempt func(ctx context.Context, site, attempt int64) (host.Attempt, error)
	// Secrets are those of a project, for the commands that need some.
	Secrets func(ctx context.Context, site, project int64) (map[string]string, error)
	Links   Links
	// Keys sign the tokens of machines.
	Keys *Keyring
	// Alarm notifies users of problems that need attention; nil notifies no one.
	Alarm func(ctx context.Context, text string) error
	// Program is a link to the program of runners, for their launchers.
	Program func(ctx context.Context) (string, error)
	// Microvm is the class of commands in MicroVMs; zero if there are none.
	Microvm Class
	// Default is the class of commands that set nothing but their image: Default.Image is for commands that name none.
	Default Class
	Now     func() time.Time // time.Now
	Logger  *slog.Logger
}

// Links give access to single objects for a short time, without credentials, and read what was written that way.
type Links interface {
	// Blob is where a blob is read: the archive of a project, or what Put has put there.
	Blob(ctx context.Context, key string) (string, error)
	Put(ctx context.Context, key string, content []byte) error
	// Log is where a runner puts a part of a log; number counts from 0.
	Log(ctx context.Context, id LogID, runner string, began time.Time) (string, error)
	// Output is where it puts a file of output, whatever its size when that is negative, and
	// Read reads that.
	Output(ctx context.Context, key string, size int64) (string, error)
	Read(ctx context.Context, key string) ([]byte, error)
}

// Times of the protocol.
const (
	// seenTime is the largest age of the recorded sign of life of a live runner: an earlier poll writes nothing.
	seenTime = 10 * time.Second
	// silence is how long a runner may be silent before nothing more is expected of it, and the service checks whether
	// its machine has ended. Its commands continue.
	silence = 40 * time.Second
	// deafTime is how long a runner may be silent although its machine runs before that is stopped: the runner itself
	// has given up two minutes earlier (cmd/runner: deafTime).
	deafTime = 17 * time.Minute
	// unheardTime is after what time it is asked whether a machine is there that has not come up.
	unheardTime = 2 * time.Minute
	// startTime is how long a machine may take to come up.
	startTime = 10 * time.Minute
	// impatience is how long commands may wait before another runner is launched for them.
	impatience = 45 * time.Second
	// idleTime is how long a runner stays that has nothing to do.
	idleTime = time.Minute
	// pauseTime is how long a runner has nothing to do before it is asked whether more can come.
	pauseTime = 500 * time.Millisecond
	// patience is how long an agent waits for a command that a runner can take at once.
	patience = 3 * time.Second
	// outage is when a task checks again while the store cannot work.
	outage = 10 * time.Second
	// stopTime is how long a stop waits until the machine has ended the command: longer than it takes to the
	// machine's next poll, and the command's grace.
	stopTime = 20 * time.Second
	// slowLook is after what time a task checks its command in case the wake was lost.
	slowLook = 10 * time.Minute
)

// How often something may fail before the command does.
const (
	maxLosses   = 3
	maxTroubles = 5
)

// Service runs commands on runners. It is safe for concurrent use, and keeps nothing that it
// would not read again.
type Service struct {
	Options
}

// New makes a Service.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Default.CPU = cmp.Or(o.Default.CPU, 1024)
	o.Default.Memory = cmp.Or(o.Default.Memory, 2048)
	o.Default.Disk = cmp.Or(o.Default.Disk, 20)
	return &Service{Options: o}
}

// killed reports whether an attempt must end, or has ended, as far as that can be read. Busy agents are not notified:
// they poll.
func (s *Service) killed(ctx context.Context, site, attempt int64) bool {
	a, err := s.Attempt(ctx, site, attempt)
	return err == nil && (a.Canceled || a.Done)
}

// told wakes the task of a command after a change of that, unless another process was first: then that process does so.
func (s *Service) told(ctx context.Context, changed Command, err error) error {
	switch {
	case errors.Is(err, host.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	return s.wake(ctx, changed)
}

// wake wakes the task of a command, if it waits.
func (s *Service) wake(ctx context.Context, c Command) error {
	if c.Parked == 0 {
		return nil
	}
	task, _, err := parseKey(c.Key)
	if err != nil {
		return err
	}
	if err := s.Wake(ctx, c.Attempt, engine.Run{Task: task, Dispatch: c.Parked + 1}); err != nil {
		return fmt.Errorf("notify task %s of the end of its command: %w", c.Task, err)
	}
	return nil
}
