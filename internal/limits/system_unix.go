//go:build !windows

package limits

import (
	"io/fs"
	"syscall"
)

// onDisk returns how many bytes a file takes up on disk.
func onDisk(info fs.FileInfo) int64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return s.Blocks * 512
}

// openFiles returns how many files this process may have open; false if the system does not report it.
func openFiles() (uint64, bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit.Cur, err == nil
}

// isFull returns false, because this system has no special errors for a full disk.
func isFull(error) bool { return false }
