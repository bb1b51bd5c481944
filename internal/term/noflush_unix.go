//go:build linux || darwin

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepWhatIsDrawn makes a terminal show everything written to it when its user presses Ctrl-C, and returns a function
// that restores the terminal. Otherwise, the terminal discards output that it has not shown yet: the end of a picture
// would be missing, the cursor would be higher than this program knows, and the next picture would erase lines above
// it.
func keepWhatIsDrawn(file *os.File) (restore func()) {
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || before.Lflag&unix.NOFLSH != 0 {
		return func() {}
	}
	during := *before
	during.Lflag |= unix.NOFLSH
	if err := unix.IoctlSetTermios(fd, setTermios, &during); err != nil {
		return func() {} // at worst, a picture is cut off
	}
	return func() { unix.IoctlSetTermios(fd, setTermios, before) }
}
