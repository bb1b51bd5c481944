package evaluators

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// attributes returns attributes that start an evaluator without a window and detached from the console, so that a
// Ctrl-C does not reach it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// unbound changes the attributes after an error; on this system there is nothing to change.
func unbound(*syscall.SysProcAttr, error) bool { return false }

// program is the program that an evaluator runs; "" means this program.
const program = ""

// spent returns how much processor time a process has used. It is not used on this system, where pipes have no
// deadlines.
func spent(int) (time.Duration, bool) { return 0, false }

// outOfTime is the number of SIGXCPU, a signal that does not exist on this system.
const outOfTime = syscall.Signal(24)

// isGone reports whether a write failed because the reader is gone.
func isGone(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}
