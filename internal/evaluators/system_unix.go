//go:build !windows

package evaluators

import (
	"errors"
	"syscall"
)

// outOfTime ends a process that has used more processor time than it may.
const outOfTime = syscall.SIGXCPU

// isGone reports whether a write failed because the reader is gone.
func isGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
