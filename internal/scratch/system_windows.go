package scratch

import (
	"io/fs"
	"os"
)

// withoutWaiting has no counterpart here: on this system, no command has fewer rights than this program.
const withoutWaiting = 0

func openToWrite(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
}

// hasOneName returns false because this system does not report it, so no folder is kept for the next command.
func hasOneName(fs.FileInfo) bool { return false }
