//go:build linux

// Command sandbox runs a program with as little as Lambda's sandbox allows: system calls that Lambda's filter rejects
// return EPERM, only /tmp can be written, there is no shared memory, 1,024 files may be open, and the program sees only
// its own processes.
//
// The test bed starts every function with it. AWS does not publish its filter. The refused calls are named in public
// reports (chromedp#720, terraform-exec#172, ClickHouse#43589, catboost#1606) or need rights that a function lacks.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

const (
	usage = "usage: sandbox TMP PROGRAM [ARGUMENT ...]\n\nRuns a program as Lambda would. TMP is the folder that the program sees as /tmp.\n"
	// insideName is the first argument of this program within the new namespaces.
	insideName = "inside"
	mostFiles  = 1024
	// signalled is added to the number of the signal that ended the program, as in shells.
	signalled = 128
)

// refused returns the calls that return EPERM.
func refused() []string {
	return []string{"prctl", "ptrace", "mount", "umount2", "move_mount", "open_tree", "fsopen", "mount_setattr", "pivot_root", "chroot", "unshare", "setns", "bpf",
		"keyctl", "add_key", "request_key", "perf_event_open", "process_vm_readv", "process_vm_writev", "userfaultfd", "kexec_load", "init_module", "finit_module",
		"delete_module", "reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "sethostname", "setdomainname", "acct", "quotactl", "io_uring_setup"}
}

func main() {
	var err error
	code := 0
	switch {
	case os.Args[0] == insideName:
		code, err = inside(os.Args[1], os.Args[2:])
	case len(os.Args) < 3:
		err = errors.New(usage)
	default:
		code, err = outside(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		code = 2
	}
	if code == signalled+int(syscall.SIGKILL) {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	os.Exit(code)
}

// outside starts this program again in new namespaces.
func outside(args []string) (int, error) {
	c := exec.Command("/proc/self/exe")
	c.Args = append([]string{insideName}, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the death signal belongs to the thread
	if err := c.Start(); err != nil {
		return 0, fmt.Errorf("create namespaces, which requires root or user namespaces: %w", err)
	}
	c.Wait() // its state holds how it ended
	return ended(c.ProcessState.Sys().(syscall.WaitStatus)), nil
}

func ended(s syscall.WaitStatus) int {
	if s.Signaled() {
		return signalled + int(s.Signal())
	}
	return s.ExitStatus()
}

// inside is the first process of the namespaces: it confines itself, starts the program, and reaps the processes that
// it leaves.
func inside(tmp string, args []string) (int, error) {
	runtime.LockOSThread() // capabilities belong to a thread and its children
	if err := confine(tmp); err != nil {
		return 0, err
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return 0, err
	}
	p, err := os.StartProcess(program, args, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return 0, err
		}
		if pid == p.Pid {
			return ended(s), nil
		}
	}
}

func confine(tmp string) error {
	for _, m := range []struct {
		what string
		do   func() error
	}{
		{"make mounts private to this process", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"make everything read-only", func() error { return attribute("/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY, 0) }},
		{"mount /tmp", func() error { return unix.Mount(tmp, "/tmp", "", unix.MS_BIND, "") }},
		{"make /tmp writable", func() error { return attribute("/tmp", 0, 0, unix.MOUNT_ATTR_RDONLY) }},
		{"remove shared memory", func() error { return unix.Mount("none", "/dev/shm", "tmpfs", unix.MS_RDONLY, "size=4k") }},
		{"show only own processes", func() error {
			return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		}},
		{"mount the kernel's settings", func() error { return unix.Mount("/proc/sys", "/proc/sys", "", unix.MS_BIND, "") }},
		{"protect the kernel's settings", func() error { return attribute("/proc/sys", 0, unix.MOUNT_ATTR_RDONLY, 0) }},
		{"limit files", func() error {
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: mostFiles, Max: mostFiles})
		}},
		{"drop capabilities", dropCapabilities},
		{"restrict system calls", func() error {
			return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow,
				Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: refused()}}}})
		}},
	} {
		if err := m.do(); err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
	}
	return nil
}

func attribute(path string, flags uint, set, unset uint64) error {
	return unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: set, Attr_clr: unset})
}

// dropCapabilities removes all capabilities from the programs that this thread starts. The user stays root because the
// code of functions may be in a folder that only root can read.
func dropCapabilities() error {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return nil
}
