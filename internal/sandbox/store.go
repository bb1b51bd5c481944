package sandbox

import (
	"context"
	"errors"
	"time"
)

// Commands stores commands for their submitters. Every method of the ports below may be repeated after an error. They
// return the host's errors: ErrNotFound, ErrConflict, ErrUnavailable. Commands and Work are two sides of the same rows,
// and one type implements both; the same is true of Registry, Liveness and Fences.
type Commands interface {
	// Add stores a waiting command, and returns the stored one: a key never has more than one command.
	Add(ctx context.Context, c Command) (Command, error)
	// Command reads a command, consistently, without its Spec. It returns ErrNotFound if there is none.
	Command(ctx context.Context, attempt int64, key string) (Command, error)
	// Park records that a run of the task waits for the end, and returns the current command: if it has already ended,
	// no task will be woken.
	Park(ctx context.Context, attempt int64, key string, dispatch int) (Command, error)
	// End ends an unfinished command of runner ("" means any runner, or none yet), and returns it; repeating the same end
	// changes nothing. It returns ErrConflict if the command has ended in another way or belongs to another runner.
	End(ctx context.Context, attempt int64, key, runner string, r Result) (Command, error)
}

// Work is the runners' side of commands.
type Work interface {
	// Waiting lists up to n commands that wait for a runner of the class, oldest first: keys and times only.
	Waiting(ctx context.Context, attempt int64, class string, n int) ([]Command, error)
	// Claim gives a waiting command to a runner. It returns ErrConflict if the command no longer waits.
	Claim(ctx context.Context, attempt int64, key, runner string) (Command, error)
	// Claimed lists a runner's commands.
	Claimed(ctx context.Context, attempt int64, runner string) ([]Command, error)
	// Ended records that the runner of a stopped command has ended all its processes. It returns ErrConflict if the
	// command has not ended or belongs to another runner.
	Ended(ctx context.Context, attempt int64, key, runner string) error
	// Note records a problem with a waiting command, and returns the command; with "", it only reads it. It returns
	// ErrConflict if the command no longer waits.
	Note(ctx context.Context, attempt int64, key, trouble string) (Command, error)
}

// Registry records which runners exist, and the outcomes of their launches; a runner is identified by its row's place
// and its ID.
type Registry interface {
	// AddRunner puts a runner into its slot. It returns ErrConflict if the slot is taken.
	AddRunner(ctx context.Context, r Runner) error
	// Runner reads a runner by name. It returns ErrNotFound if there is none.
	Runner(ctx context.Context, name string) (Runner, error)
	// Runners lists the runners of an attempt; 0 means all attempts.
	Runners(ctx context.Context, attempt int64) ([]Runner, error)
	// Launched records when a runner was launched and the launcher's name for it.
	Launched(ctx context.Context, name, task string, at time.Time) error
	// Refused records a failed launch: when it was tried and why it was not possible.
	Refused(ctx context.Context, name, why string, at time.Time) error
	// Remove deletes a runner if Asked still equals asked, or unconditionally if asked is negative; otherwise it returns
	// ErrConflict. A missing runner is not an error.
	Remove(ctx context.Context, name string, asked int) error
	// Discard is Remove for a runner that has not joined; it returns ErrConflict if the runner has.
	Discard(ctx context.Context, name string, asked int) error
}

// Liveness records when runners polled, and whether they are still needed. For a runner that has left or is fenced, the
// methods return ErrNotFound.
type Liveness interface {
	// Join records the hash of the secret that the runner has chosen, and when; repeating it with the same hash changes
	// nothing. It returns ErrConflict if another secret was chosen before, even if that runner has left or is fenced.
	Join(ctx context.Context, name string, hash []byte, at time.Time) (Runner, error)
	// Beat records a sign of life, and returns the runner.
	Beat(ctx context.Context, name string, at time.Time, load int) (Runner, error)
	// Ask records that a command waits, so that the runner does not leave.
	Ask(ctx context.Context, name string) error
	// Leave fences a runner that wants to leave, if Asked still equals asked; otherwise it returns ErrConflict.
	Leave(ctx context.Context, name string, asked int) error
}

// Fences takes rights from runners.
type Fences interface {
	// Fence takes all rights from a runner, and records why. It returns ErrConflict, with the current runner, if it was
	// fenced before.
	Fence(ctx context.Context, name, why string) (Runner, error)
	// ShownTwice records that its ticket was shown twice, fences it, with why if no reason was recorded before, and
	// returns it; repeating it changes nothing. It returns ErrNotFound if there is no such runner.
	ShownTwice(ctx context.Context, name, why string) (Runner, error)
	// Told records that users were notified that its ticket was shown twice. It returns ErrNotFound if there is no such
	// runner.
	Told(ctx context.Context, name string) error
}

// Owner identifies the owner of the commands that a machine runs.
type Owner struct {
	Site    int64
	Project string // its name
}

// Launcher starts machines, and decides whether one has ended.
type Launcher interface {
	// Check reports whether machines of the class can be launched at all: a role may be forbidden, for example, if only
	// projects of some sites may use it. The error is for the user.
	Check(class Class, of Owner) error
	// Launch starts a runner and returns the launcher's name for it; if it is called again for the same runner, it starts
	// no other one. ErrBusy means that it should be tried later. Other errors are for the user.
	Launch(ctx context.Context, r Runner, ticket string) (task string, err error)
	// Stop asks the machine of a runner to end; a missing machine is not an error.
	Stop(ctx context.Context, r Runner, why string) error
	// Ended returns which machines of runners have ended, and why, by the names of the runners: nothing runs on them
	// anymore. An unknown machine counts as ended.
	Ended(ctx context.Context, runners []Runner) (map[string]string, error)
}

// Gone is a launcher's reason for a machine that its service does not know, or that belongs to another region or
// account, as after a restore.
const Gone = "its machine no longer exists"

// ErrBusy means that no machine could be launched now; it is wrapped with the reason.
var ErrBusy = errors.New("no machine is available now")

// errUnknownRunner is returned to a caller without a valid token: the runner leaves.
var errUnknownRunner = errors.New("this runner is unknown, or has been replaced")
