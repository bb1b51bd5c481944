//go:build !windows

package docker

import (
	"os"
	"syscall"
)

// apart starts a client in a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// endClient ends a client and what it has started.
func endClient(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
