//go:build !linux && !windows

package evaluators

import (
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// unbound starts an evaluator in another way after an error; there is none here.
func unbound(*syscall.SysProcAttr, error) bool { return false }

// program is what an evaluator runs: this program.
const program = ""

// spent is how much processor time a process has used; false: this system does not report it.
func spent(int) (time.Duration, bool) { return 0, false }
