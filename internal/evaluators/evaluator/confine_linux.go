package evaluator

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

const (
	maxMemory = 256 << 20 // bytes of data in addition to what an idle evaluator uses
	maxSpace  = 1 << 30   // bytes of address space in addition to that of an idle evaluator
	maxTime   = 3         // maximum processor time of one evaluation in seconds
)

// confine takes away from this process everything that an evaluator does not need: memory beyond its limits, new files
// and sockets, files that it could write, other programs and processes, and all except a few system calls. The last
// restriction applies if the kernel and the sandbox around this process allow it; the others always apply.
func confine() error {
	// If the machine runs out of memory, the kernel ends this process before others.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // without this file, the kernel has no such preference
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("leave the folder: %w", err)
	}
	closeInherited()
	space, data := memory()
	for _, l := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_DATA, data + maxMemory}, {unix.RLIMIT_AS, space + maxSpace}, {unix.RLIMIT_NOFILE, 0}} {
		if err := lower(l.what, l.most); err != nil {
			return fmt.Errorf("limit the evaluator (%d): %w", l.what, err)
		}
	}
	// Some sandboxes, such as Lambda's, refuse both calls because they have their own filter. The limits set above
	// still apply.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil && !isRefused(err) {
		return fmt.Errorf("give up privileges: %w", err)
	}
	_ = filterCalls()
	return nil
}

// isRefused reports whether the kernel forbids or lacks a call.
func isRefused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS)
}

// closeInherited closes the files that this process was started with, except its three pipes; files that Go's runtime
// opened stay open.
func closeInherited() {
	entries, _ := os.ReadDir("/proc/self/fd") // without /proc they cannot be listed
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if n > 2 && err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			unix.Close(n) // the descriptor of the folder is already closed
		}
	}
}

// lower sets a limit unless a lower one is set.
func lower(what int, most uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(what, &l); err != nil {
		return err
	}
	return unix.Setrlimit(what, &unix.Rlimit{Cur: min(l.Cur, most), Max: min(l.Max, most)})
}

// memory returns how much address space and data this process has, in bytes.
func memory() (space, data uint64) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 6 {
		return 2 << 30, 256 << 20 // typical values
	}
	page := uint64(os.Getpagesize())
	space, _ = strconv.ParseUint(fields[0], 10, 64)
	data, _ = strconv.ParseUint(fields[5], 10, 64)
	return space * page, data * page
}

// boundTime makes the kernel end this process if an evaluation uses processor time endlessly and the process that
// requested it no longer exists to kill it. Only the soft limit changes.
func boundTime() {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CPU, &l) != nil {
		return
	}
	l.Cur = min(l.Max, uint64(used()/time.Second)+1+maxTime)
	unix.Setrlimit(unix.RLIMIT_CPU, &l) // a last resort
}

// filterCalls allows this process only the calls that Go's runtime makes, reads and writes of open files, and limits.
// It cannot start a program, open a file or socket, or signal, inspect or trace another process.
func filterCalls() error {
	machine, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	known := func(names ...string) []string {
		return slices.DeleteFunc(names, func(n string) bool { _, there := machine.SyscallNames[n]; return !there })
	}
	const threads = unix.CLONE_THREAD | unix.CLONE_VM
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionErrno,
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionAllow, Names: known("read", "write", "readv", "writev", "close", "futex", "futex_waitv", "mmap", "munmap", "mremap",
				"madvise", "mprotect", "mincore", "brk", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "exit",
				"exit_group", "gettid", "getpid", "nanosleep", "clock_gettime", "clock_getres", "clock_nanosleep", "gettimeofday", "time", "sched_yield",
				"sched_getaffinity", "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "getrandom", "getrusage", "getrlimit", "setrlimit",
				"prlimit64", "restart_syscall", "set_robust_list", "rseq", "membarrier", "arch_prctl", "set_tid_address", "timer_create",
				"timer_settime", "timer_delete", "setitimer", "fcntl", "fstat", "uname", "prctl", "poll", "ppoll")},
			{Action: seccomp.ActionAllow, NamesWithCondtions: []seccomp.NameWithConditions{
				{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: threads}}},
				{Name: "tgkill", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: uint64(os.Getpid())}}},
			}},
			// A filter cannot inspect the flags of clone3; if it is refused, the runtime uses clone.
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: known("clone3")},
		},
	}})
}
