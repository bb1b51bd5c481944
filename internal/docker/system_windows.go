package docker

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart returns attributes that start a client in such a way that a Ctrl-C does not reach it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// endClient ends a client: on Windows, it has no children that must end with it.
func endClient(p *os.Process) { p.Kill() } // it may have ended
