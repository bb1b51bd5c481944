package gate

// openFiles is not known: this system bounds files by memory only.
func openFiles() (uint64, bool) { return 0, false }
