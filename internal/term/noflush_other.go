//go:build !linux && !darwin

package term

import "os"

// keepWhatIsDrawn has no effect: consoles of this system keep what was written to them.
func keepWhatIsDrawn(*os.File) (restore func()) { return func() {} }
