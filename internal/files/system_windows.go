package files

import (
	"errors"
	"io/fs"
	"os"
)

// Functions that only a server needs do nothing here: servers do not run on this system, because a file's mode does not
// determine who may read it.

const noFollow = 0

func tryLock(*os.File) error { return errors.ErrUnsupported }

// Free returns 0, because the free space is unknown on this system.
func Free(string) int64 { return 0 }

func hasOtherNames(fs.FileInfo) bool { return true }

func isOwn(fs.FileInfo) bool { return false }
