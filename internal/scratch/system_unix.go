//go:build !windows

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

// withoutWaiting opens a file, but no link, and waits for no other end of a pipe.
const withoutWaiting = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// openToWrite opens a file without emptying it. os.OpenFile would offer the file to the poller first, which takes no
// plain files.
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

// hasOneName reports whether a file is known by one name only.
func hasOneName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 1
}
