package files

import (
	"errors"
	"io/fs"
	"os"
)

// What only a server needs has no counterpart here: there is no server on this system, since who may read a file is
// not in its mode.

const noFollow = 0

func tryLock(*os.File) error { return errors.ErrUnsupported }

// Free is not known here.
func Free(string) int64 { return 0 }

func hasOtherNames(fs.FileInfo) bool { return true }

func isOwn(fs.FileInfo) bool { return false }
