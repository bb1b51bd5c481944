package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// MayBecome explains why this program cannot run commands as the users with these IDs; nil means that it can.
func MayBecome(ids ...int) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can run commands as another user")
	}
	var has [2]unix.CapUserData // the second one is for capabilities above 31
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &has[0]); err != nil {
		return fmt.Errorf("read the capabilities of the server: %w", err)
	}
	// The capabilities needed to give a workspace to a user, to become that user, and to end its processes and delete
	// its files.
	for name, c := range map[string]int{"CHOWN": unix.CAP_CHOWN, "DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "FOWNER": unix.CAP_FOWNER,
		"KILL": unix.CAP_KILL, "SETGID": unix.CAP_SETGID, "SETUID": unix.CAP_SETUID} {
		if has[0].Effective&(1<<c) == 0 {
			return errors.New("the server runs as root without the capability CAP_" + name)
		}
	}
	// A container's root may be mapped to another user, and only a few other IDs may exist beside it.
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !mapped(string(text), int64(id)) {
				return fmt.Errorf("the server runs in a user namespace without the ID %d (%s)", id, file)
			}
		}
	}
	return nil
}

// Usable explains why other users cannot enter a folder.
func Usable(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for path := folder; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("other users cannot enter %s (%s)", path, info.Mode())
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// Runs explains why other users cannot run programs in a folder.
func Runs(folder string) error {
	if err := Usable(folder); err != nil {
		return err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("read the mount options of %s: %w", folder, err)
	}
	if disk.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("programs cannot run in %s, which is mounted with noexec", folder)
	}
	return nil
}

// mapped reports whether a table of user_namespaces(7) contains an ID.
func mapped(table string, id int64) bool {
	for line := range strings.Lines(table) {
		var inside, outside, count int64
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && id >= inside && id-inside < count {
			return true
		}
	}
	return false
}

// spawnAs starts a command as another user, with a limit on that user's processes. The watch enforces the command's
// limit; this limit is for commands that fork faster than the watch checks.
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
