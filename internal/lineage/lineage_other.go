//go:build !linux

package lineage

// Set has no effect: nothing of this system is inherited so.
func Set(int, Mark) error { return nil }

// Of is None.
func Of(int) Mark { return None }
