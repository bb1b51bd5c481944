//go:build !windows

package gate

import "syscall"

// openFiles returns how many files this process may have open; false if the system does not report it.
func openFiles() (uint64, bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}
