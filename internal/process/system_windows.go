package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// keepDescriptors does nothing, because only explicitly listed handles are inherited.
func keepDescriptors() {}

// apart starts a command in such a way that it does not receive a Ctrl-C.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// await returns at once: a pipe cannot be waited for here.
func await(*os.File) {}

func pipe() (r, w *os.File, err error) { return os.Pipe() }

// programOf finds a program. Operators use /bin/sh: here, that is the sh on the PATH, for example from Git or BusyBox.
func programOf(name string) (string, error) {
	if name == "/bin/sh" {
		return exec.LookPath("sh")
	}
	if strings.ContainsAny(name, `/\`) {
		return filepath.FromSlash(name), nil
	}
	return exec.LookPath(name)
}

// group is the job object of a command: the command, and everything it starts once it is in the job. The job runs until
// over is closed.
type group struct {
	id     int
	leader *os.Process
	job    windows.Handle // 0: it could not be created, and only the command itself can be ended
	mu     sync.Mutex
	done   bool
	over   chan struct{}
}

// newGroup puts a command that has just begun into a job that ends with this program, no matter how the program ends.
func newGroup(leader *os.Process) *group {
	g := &group{id: leader.Pid, leader: leader, over: make(chan struct{})}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, leader.Pid)
	}
	if err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

func assign(job windows.Handle, pid int) error {
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err // it has already ended
	}
	defer windows.CloseHandle(p)
	return windows.AssignProcessToJobObject(job, p)
}

func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	close(g.over)
}

// signal kills the command and everything that it started; any signal but a kill becomes a Ctrl-Break for its console
// group.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return
	}
	if s != syscall.SIGKILL {
		windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.id)) // a process without a console is killed later
		return
	}
	if g.job == 0 || windows.TerminateJobObject(g.job, 128+uint32(syscall.SIGKILL)) != nil {
		g.leader.Kill() // it may have ended
	}
}

// sweep ends the command's leftovers by closing its job. It does not report how many there were.
func (d *Driver) sweep(g *group, _ int) (running int) {
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
	return 0
}
