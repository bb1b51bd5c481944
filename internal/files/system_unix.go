//go:build !windows

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes opening a link fail.
const noFollow = syscall.O_NOFOLLOW

// tryLock locks a file for this process, or fails at once if another process holds the lock.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Free returns how many bytes are free on a folder's disk; 0 if the system does not report it.
func Free(folder string) int64 {
	var disk syscall.Statfs_t
	if syscall.Statfs(folder, &disk) != nil {
		return 0
	}
	return int64(disk.Bavail * uint64(disk.Bsize))
}

// hasOtherNames reports whether a file has other names: another user may have linked it here so that its permissions
// would be removed there.
func hasOtherNames(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && (!ok || s.Nlink > 1)
}

// isOwn reports whether a file belongs to the user who runs this program.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
