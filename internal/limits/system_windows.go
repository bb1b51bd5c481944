package limits

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// onDisk is how many bytes a file has: its size on the disk is not available with it.
func onDisk(info fs.FileInfo) int64 { return info.Size() }

// openFiles is not known: this system limits files by memory only.
func openFiles() (uint64, bool) { return 0, false }

// isFull reports whether an error is this system's own for a disk without room.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
