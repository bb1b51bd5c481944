package sandbox

import (
	"context"
	"errors"
	"time"

	"zerodag/operators"
)

// Commands keeps commands. Every method may be repeated after an error. Errors are the
// host's: ErrNotFound, ErrConflict, ErrUnavailable.
type Commands interface { //nolint:interfacebloat // one row, one state machine: to split it would part what a store must change together
	// Add puts a command that waits, and returns the one that is there: of that key there is
	// only ever one.
	Add(ctx context.Context, c Command) (Command, error)
	// Command reads one, consistently; without what it is to run. ErrNotFound.
	Command(ctx context.Context, attempt int64, key string) (Command, error)
	// Waiting lists up to n that wait for a runner of the class, the oldest first: keys and
	// times only.
	Waiting(ctx context.Context, attempt int64, class string, n int) ([]Command, error)
	// Claim gives one that waits to a runner. ErrConflict when it waits no more.
	Claim(ctx context.Context, attempt int64, key, runner string) (Command, error)
	// Claimed lists those that a runner has.
	Claimed(ctx context.Context, attempt int64, runner string) ([]Command, error)
	// Park notes that a run of the task waits for the end, and returns the command as it is
	// then: when it is over, no task will be told.
	Park(ctx context.Context, attempt int64, key string, dispatch int) (Command, error)
	// End ends a command that is not over and that runner has ("" is any, or none yet), and
	// returns it; the same end twice is one. ErrConflict.
	End(ctx context.Context, attempt int64, key, runner string, r Result) (Command, error)
	// Note adds a trouble to one that waits, and returns it; "" only reads it. ErrConflict.
	Note(ctx context.Context, attempt int64, key, trouble string) (Command, error)
}

// Runners keeps runners; a runner is named by its row's place and its ID.
type Runners interface { //nolint:interfacebloat // one row, one state machine: to split it would part what a store must change together
	// AddRunner puts one into its slot. ErrConflict when that is taken.
	AddRunner(ctx context.Context, r Runner) error
	// Runner reads one by name. ErrNotFound.
	Runner(ctx context.Context, name string) (Runner, error)
	// Runners lists those of an attempt; 0 is all attempts.
	Runners(ctx context.Context, attempt int64) ([]Runner, error)
	// Ask notes that a command waits, so that the runner does not leave. ErrNotFound when it
	// has left, or is fenced.
	Ask(ctx context.Context, name string) error
	// Beat notes a sign of life of the one that has this hash, and returns it. ErrNotFound as Ask.
	Beat(ctx context.Context, name string, hash []byte, at time.Time, load int) (Runner, error)
	// Launched notes when it was launched and what the launcher calls it, and forgets its secret.
	Launched(ctx context.Context, name, task string, at time.Time) error
	// Refused notes when it was tried to launch it, and why that was not possible then.
	Refused(ctx context.Context, name, why string, at time.Time) error
	// Fence takes all rights from it. ErrConflict when that was done before.
	Fence(ctx context.Context, name string) (Runner, error)
	// Remove deletes it, if Asked is still asked, or whatever it is when asked is negative.
	// ErrConflict; one that is gone is no error.
	Remove(ctx context.Context, name string, asked int) error
}

// Launcher starts machines.
type Launcher interface {
	// Check says whether machines of the class can be launched for a task at all: a role that its
	// project may not have, say. The error is for the user.
	Check(task operators.Identity, class Class) error
	// Launch starts a runner and returns what to call it; repeated for the same runner it
	// starts no other. ErrBusy when it is to be tried later. Other errors are for the user.
	Launch(ctx context.Context, r Runner) (task string, err error)
	// Stop ends a machine; one that is gone is no error.
	Stop(ctx context.Context, task, why string) error
}

// ErrBusy says that nothing could be launched now; with why.
var ErrBusy = errors.New("no machine can be had now")

// errUnknownRunner is said to a caller that shows no valid token: the runner leaves.
var errUnknownRunner = errors.New("this runner is not known, or has been replaced")
