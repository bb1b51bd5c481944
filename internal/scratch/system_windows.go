package scratch

import (
	"io/fs"
	"os"
)

// withoutWaiting has no counterpart here: no command has fewer rights than this program on this system.
const withoutWaiting = 0

func openToWrite(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
}

// hasOneName is false: this system does not report it, and so no folder is kept for the next command.
func hasOneName(fs.FileInfo) bool { return false }
