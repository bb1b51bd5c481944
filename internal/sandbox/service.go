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

// Options holds the parts and settings of a Service.
type Options struct {
	Commands Commands
	Work     Work
	Runners  Registry
	Liveness Liveness
	Fences   Fences
	Launcher Launcher
	// Wake makes a waiting task run now: see host.WakeMessage.
	Wake func(ctx context.Context, attempt int64, run engine.Run) error
	// Attempt reads an attempt: when it has ended, its runners leave at once.
	Attempt func(ctx context.Context, site, attempt int64) (host.Attempt, error)
	// Secrets returns a project's secrets, for commands that need them.
	Secrets func(ctx context.Context, site, project int64) (map[string]string, error)
	Links   Links
	// Keys sign the tokens of machines.
	Keys *Keyring
	// Alarm notifies users of problems that need attention; nil notifies no one.
	Alarm func(ctx context.Context, text string) error
	// Program returns a link to the program of runners, for their launchers.
	Program func(ctx context.Context) (string, error)
	// Microvm is the class of commands in MicroVMs; zero if there are none.
	Microvm Class
	// Default is the class of commands that set only their image; Default.Image is for commands that set none.
	Default Class
	Now     func() time.Time // time.Now
	Logger  *slog.Logger
}

// Links give access to single objects for a short time, without credentials, and read the objects written that way.
type Links interface {
	// Blob returns a link for reading a blob: a project's archive, or a blob stored by Put.
	Blob(ctx context.Context, key string) (string, error)
	Put(ctx context.Context, key string, content []byte) error
	// Log returns a link for storing a part of a log that began at began.
	Log(ctx context.Context, id LogID, runner string, began time.Time) (string, error)
	// Output returns a link for storing an output file of the given size (negative: of any size), and Read reads the
	// file.
	Output(ctx context.Context, key string, size int64) (string, error)
	Read(ctx context.Context, key string) ([]byte, error)
}

// Time limits of the protocol.
const (
	// seenTime is the greatest age of a live runner's recorded sign of life: polls that follow sooner write nothing.
	seenTime = 10 * time.Second
	// silence is how long a runner may be silent before nothing more is expected of it, and the service checks whether
	// its machine has ended. Its commands continue.
	silence = 40 * time.Second
	// deafTime is how long a runner may be silent while its machine runs before the machine is stopped: the runner
	// itself gives up two minutes earlier (cmd/runner: deafTime).
	deafTime = 17 * time.Minute
	// unheardTime is the time after which the launcher is asked whether a machine that has not come up still exists.
	unheardTime = 2 * time.Minute
	// startTime is how long a machine may take to come up.
	startTime = 10 * time.Minute
	// impatience is how long commands may wait before another runner is launched for them.
	impatience = 45 * time.Second
	// idleTime is how long an idle runner stays.
	idleTime = time.Minute
	// pauseTime is how long a runner must be idle before it may leave because its attempt has ended.
	pauseTime = 500 * time.Millisecond
	// patience is how long an agent waits for a command that a runner can take at once.
	patience = 3 * time.Second
	// outage is the interval at which a task checks again while the store is unavailable.
	outage = 10 * time.Second
	// stopTime is how long a stop waits until the machine has ended the command: longer than the time to the machine's
	// next poll plus the command's grace period.
	stopTime = 20 * time.Second
	// slowLook is the time after which a task checks its command in case the wake was lost.
	slowLook = 10 * time.Minute
)

// How often something may fail before the command does.
const (
	maxLosses   = 3
	maxTroubles = 5
)

// Service runs commands on runners. It is safe for concurrent use, and keeps no state that it cannot read again.
type Service struct {
	Options
}

// New returns a Service.
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

// killed reports whether an attempt must end, or has ended, if that can be read. Busy agents are not notified:
// they poll.
func (s *Service) killed(ctx context.Context, site, attempt int64) bool {
	a, err := s.Attempt(ctx, site, attempt)
	return err == nil && (a.Canceled || a.Done)
}

// told wakes the task of a command after the command changed, unless another process changed it first and therefore
// wakes the task.
func (s *Service) told(ctx context.Context, changed Command, err error) error {
	switch {
	case errors.Is(err, host.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	return s.wake(ctx, changed)
}

// wake wakes the task of a command if it waits.
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
