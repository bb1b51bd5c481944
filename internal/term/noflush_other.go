//go:build !linux && !darwin

package term

import "os"

// keepWhatIsDrawn has no effect because consoles on this system keep everything written to them.
func keepWhatIsDrawn(*os.File) (restore func()) { return func() {} }
