//go:build !windows

package scratch

import (
	"io/fs"
	"syscall"
)

// belongs reports whether a file already has this owner.
func belongs(info fs.FileInfo, user, group int) bool {
	s, known := info.Sys().(*syscall.Stat_t)
	return known && int(s.Uid) == user && int(s.Gid) == group
}
