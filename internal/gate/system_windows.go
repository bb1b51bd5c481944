package gate

// openFiles returns false, because this system limits files only by memory.
func openFiles() (uint64, bool) { return 0, false }
