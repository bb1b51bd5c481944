package limits

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"

	"zerodag/operators"
)

// Scarce reports whether an error means that the machine temporarily lacks descriptors, processes or memory to start
// something, which is not the task's fault.
func Scarce(err error) bool {
	return overLast(err) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM)
}

// overLast reports whether a program was not started because the descriptors that it would get have the highest numbers
// that this process may use: the new process first copies them to the next numbers, and the kernel reports that these
// descriptors are not open.
func overLast(err error) bool {
	var start *fs.PathError
	return errors.As(err, &start) && start.Op == "fork/exec" && errors.Is(start.Err, syscall.EBADF)
}

// Full reports whether an error means that a disk has no more room, or none for this user.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || isFull(err)
}

// The pauses between the tries of Patiently.
const (
	shortestPause = 20 * time.Millisecond
	longestPause  = 2 * time.Second
)

// Patiently repeats do until it succeeds, fails with an error other than a shortage of resources or disk space, or the
// context ends. It reports the wait once in a task's log.
func Patiently(ctx context.Context, log io.Writer, do func() error) error {
	return while(ctx, log, func(err error) bool { return Scarce(err) || Full(err) }, do)
}

// WhileScarce is Patiently for work that needs no disk space.
func WhileScarce(ctx context.Context, do func() error) error { return while(ctx, nil, Scarce, do) }

func while(ctx context.Context, log io.Writer, passes func(error) bool, do func() error) error {
	err := do()
	for pause := shortestPause; err != nil && passes(err); pause = min(2*pause, longestPause) {
		if pause == 4*shortestPause {
			sayScarce(log, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		}
		err = do()
	}
	return err
}

func sayScarce(log io.Writer, err error) {
	if l, ok := log.(operators.Log); ok {
		what := "The machine is too busy for another command now"
		if Full(err) {
			what = "The disk has too little free space for another command now"
		}
		l.Line(operators.Warn, "CommandExecutor", what+" ("+err.Error()+"): the command waits")
	}
}

// perCommand is how many descriptors a command needs: for its output, its process and its log, and, briefly, to start
// it and to measure its folder.
const perCommand = 8

// AtOnce returns how many commands may run at the same time if they use half of the descriptors that this process is
// allowed.
func AtOnce() int {
	files, known := openFiles()
	if !known {
		return mostAtOnce
	}
	return int(min(max(files/2/perCommand, 2), mostAtOnce))
}

// mostAtOnce limits AtOnce if there are more descriptors than necessary.
const mostAtOnce = 10_000
