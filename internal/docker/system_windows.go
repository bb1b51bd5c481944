package docker

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart starts a client so that a Ctrl-C is not for it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// endClient ends a client: here it starts nothing that would have to end with it.
func endClient(p *os.Process) { p.Kill() } // it may be over
