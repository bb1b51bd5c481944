//go:build !linux && !windows

package evaluators

import (
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// unbound changes the attributes after an error; on this system there is nothing to change.
func unbound(*syscall.SysProcAttr, error) bool { return false }

// program is the program that an evaluator runs; "" means this program.
const program = ""

// spent returns false, because this system does not report how much processor time a process has used.
func spent(int) (time.Duration, bool) { return 0, false }
