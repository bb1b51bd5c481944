//go:build !linux && !windows

package evaluator

import "golang.org/x/sys/unix"

// confine takes away from this process as much as this system permits: files and sockets. Only the engine's own checks
// limit memory, and the calling process limits time.
func confine() error {
	for _, what := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE} {
		if err := unix.Setrlimit(what, &unix.Rlimit{}); err != nil {
			return err
		}
	}
	return unix.Chdir("/")
}

func boundTime() {}
