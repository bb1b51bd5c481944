package process

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"zerodag/operators"
)

// bounded is a shell script that limits the number of its user's processes, takes the command's mark and becomes the
// command, because only the process itself can always do so. Shells use different letters for the options of ulimit.
const bounded = `n=$1 m=$2; shift 2; { ulimit -p $n || ulimit -u $n; ulimit -w $m || ulimit -x $m; } 2>/dev/null; unset n m; exec "$@"`

// spawnAs starts a command as another user, with a limit on that user's processes. The watch enforces the limit of the
// command; this one is for commands that fork faster than the watch checks.
func (d *Driver) spawnAs(u *User, program string, c operators.Command, number int, attr *os.ProcAttr) (*os.Process, error) {
	if err := executable(attr.Dir, program); err != nil {
		return nil, err
	}
	bound := strconv.Itoa(threadsOf(u.ID) + 2*c.Sandbox.Processes)
	attr.Sys.Credential = &syscall.Credential{Uid: uint32(u.ID), Gid: uint32(u.Group)}
	args := append([]string{"sh", "-c", bounded, "sh", bound, strconv.FormatUint(uint64(d.base)+uint64(number), 10), program}, c.Args[1:]...)
	var p *os.Process
	var err error
	done := make(chan struct{})
	restricted() <- func() {
		defer close(done)
		p, err = os.StartProcess("/bin/sh", args, attr)
	}
	<-done
	return p, err
}

// restricted returns a channel of functions for a thread that has given up everything that a command run as another
// user must not get: new rights from setuid programs, and all capabilities. Processes started by the thread lack them,
// too. The other threads keep them, and no other goroutine ever runs on this thread.
var restricted = sync.OnceValue(func() chan<- func() {
	line := make(chan func())
	go func() {
		runtime.LockOSThread()
		// A process without the right to give up capabilities has few of them, and new rights are impossible anyway.
		for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
		}
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) // every kernel on which Go runs supports it
		for start := range line {
			start()
		}
	}()
	return line
})

// executable explains why a program that is named by its path cannot be run: the shell would only return an exit code.
func executable(dir, program string) error {
	if !strings.HasPrefix(program, "/") {
		program = dir + "/" + program
	}
	_, err := os.Stat(program)
	return err
}

// threadsOf counts the threads of a user, which is what the kernel limits.
func threadsOf(user int) (n int) {
	for _, p := range processesOf(user) {
		n += p.threads
	}
	return n
}

func processesOf(user int) (list []status) {
	for _, p := range processes() {
		info, err := os.Stat("/proc/" + strconv.Itoa(p.pid))
		if err != nil {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) == user {
			list = append(list, p)
		}
	}
	return list
}
