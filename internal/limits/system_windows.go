package limits

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/windows"
)

// onDisk returns a file's size: its size on disk is not part of the information.
func onDisk(info fs.FileInfo) int64 { return info.Size() }

// openFiles returns false, because this system limits files only by memory.
func openFiles() (uint64, bool) { return 0, false }

// isFull reports whether an error is one of this system's special errors for a full disk.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
