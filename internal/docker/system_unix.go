//go:build !windows

package docker

import (
	"os"
	"syscall"
)

// apart returns attributes that start a client in a separate process group.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// endClient ends a client and its children.
func endClient(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
