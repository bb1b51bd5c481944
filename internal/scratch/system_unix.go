//go:build !windows

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

// withoutWaiting opens files but not links, and does not wait for the other end of a pipe.
const withoutWaiting = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// openToWrite opens a file without emptying it. os.OpenFile would first offer the file to the poller, which does not
// accept regular files.
func openToWrite(file string) (*os.File, error) {
	fd, err := syscall.Open(file, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o644)
	for err == syscall.EINTR {
		fd, err = syscall.Open(file, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0o644)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file), nil
}

// hasOneName reports whether a file has only one name.
func hasOneName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 1
}
