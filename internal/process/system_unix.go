//go:build !windows

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepDescriptors prevents commands from inheriting descriptors that this process got from its parent: they may refer
// to anything, and a command could write to it. Files that this program opens are not inherited anyway.
var keepDescriptors = sync.OnceFunc(func() {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
})

// apart starts a command in a separate session: nothing that it starts can affect ours.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// await waits until there is output, all ends of the pipe are closed, or the command is no longer a short one. The
// thread itself waits: the runtime's poller would wake other threads for each command, and they would find no work.
func await(output *os.File) {
	c, err := output.SyscallConn()
	if err != nil {
		return // reading it returns the reason
	}
	_ = c.Control(func(fd uintptr) {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(soon.Milliseconds())) // #nosec G115 -- a descriptor is small
	})
}

// pipe creates a pipe of which only the read end can have a deadline, because the other end is the command's.
func pipe() (r, w *os.File, err error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return nil, nil, err
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	err = syscall.SetNonblock(ends[0], true)
	return os.NewFile(uintptr(ends[0]), "output"), os.NewFile(uintptr(ends[1]), "output"), err
}

// programOf finds a program. A path is relative to the command's folder; starting the program reports any error.
func programOf(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return name, nil
	}
	return path, err
}

// group is a process group whose leader runs until over is closed. The lock prevents signals to a group whose number
// may already belong to another group.
type group struct {
	id   int
	mu   sync.Mutex
	done bool
	over chan struct{}
}

func newGroup(leader *os.Process) *group {
	return &group{id: leader.Pid, over: make(chan struct{})}
}

func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	close(g.over)
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return
	}
	if syscall.Kill(-g.id, s) != nil { // it has moved to another group
		syscall.Kill(g.id, s)
	}
}
