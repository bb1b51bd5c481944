//go:build !windows

package evaluator

import (
	"time"

	"golang.org/x/sys/unix"
)

// used returns how much processor time this process has used.
func used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
