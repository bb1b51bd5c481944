//go:build !linux

package lineage

// Set has no effect, because this system has no attribute that is inherited in this way.
func Set(int, Mark) error { return nil }

// Start calls start.
func Start(_ Mark, start func() error) error { return start() }

// Of returns None.
func Of(int, bool) Mark { return None }
