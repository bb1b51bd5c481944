//go:build !windows

package notice

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// withGroup starts a command in a separate process group, so that ending it through the context ends all processes in
// the group.
func withGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
