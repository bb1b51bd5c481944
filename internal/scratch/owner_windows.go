package scratch

import "io/fs"

// belongs returns false: files have no numeric owners here.
func belongs(fs.FileInfo, int, int) bool { return false }
