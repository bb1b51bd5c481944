package evaluators

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// attributes start an evaluator without a window and apart from the console: a Ctrl-C is not for it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// unbound starts an evaluator in another way after an error; there is none here.
func unbound(*syscall.SysProcAttr, error) bool { return false }

// program is what an evaluator runs: this program.
const program = ""

// spent is how much processor time a process has used; it is not asked here, where pipes have no deadlines.
func spent(int) (time.Duration, bool) { return 0, false }

// outOfTime is the number of SIGXCPU, by which nothing ends here.
const outOfTime = syscall.Signal(24)

// isGone reports whether a write failed because the reader is gone.
func isGone(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}
