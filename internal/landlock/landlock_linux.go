package landlock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights that are granted for files and for folders with everything below them. Rights that are not listed, such as
// listing a folder, are never restricted.
const (
	onFiles   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	onFolders = onFiles | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// Landlock versions that added features used here.
const (
	renames   = 2 // renaming between folders; without it, commands could not rename files
	truncates = 3
	signals   = 6
)

// Supported returns an error if processes cannot be restricted on this system.
func Supported() error {
	if version() < renames {
		return ErrUnsupported
	}
	return nil
}

func version() int {
	v, _, err := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != 0 {
		return 0
	}
	return int(v)
}

// circumvents lists capabilities with which root could read what is hidden. Others remain: a restricted root can still
// read disks directly.
func circumvents() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_DAC_READ_SEARCH}
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// Start runs start, which starts a process, in such a way that the process and everything that it starts are
// restricted. open is a folder that the process may use although it is hidden. Such processes can neither read this
// program's or each other's memory, environment or open files, nor gain rights from setuid programs. With Linux 6.12 or
// later, they also cannot send signals to this program or to each other.
func (r Rules) Start(open string, start func() error) error {
	done := make(chan error, 1)
	go func() {
		// A restricted thread never loses its restrictions. Because this goroutine keeps it, the thread ends with it.
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the main thread would not end
			defer runtime.UnlockOSThread()
			done <- r.Start(open, start)
			return
		}
		if err := r.restrict(open); err != nil {
			done <- fmt.Errorf("hide the files of the server: %w", err)
			return
		}
		done <- start()
	}()
	return <-done
}

// restrict restricts the calling thread.
func (r Rules) restrict(open string) error {
	v := version()
	set := unix.LandlockRulesetAttr{Handled_access_fs: onFolders}
	if v < truncates {
		set.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if v >= signals {
		set.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
	}
	n, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&set)), unsafe.Sizeof(set), 0) // #nosec G103 -- the call takes a structure
	if failed != 0 {
		return os.NewSyscallError("landlock_create_ruleset", failed)
	}
	ruleset := int(n)
	defer unix.Close(ruleset) //nolint:errcheck // nothing is written
	grant := func(path string, isDir bool) error {
		rights := set.Handled_access_fs
		if !isDir {
			rights &= onFiles
		}
		return allow(ruleset, path, rights)
	}
	if err := r.visible("/", grant); err != nil {
		return err
	}
	if open != "" {
		if err := grant(open, true); err != nil {
			return err
		}
	}
	for _, c := range circumvents() {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails without privileges, when there is nothing to drop
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, failed = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); failed != 0 {
		return os.NewSyscallError("landlock_restrict_self", failed)
	}
	return nil
}

// allow grants rights for a path. A path that no longer exists or cannot be opened gets none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // the entry cannot be used anyway
	}
	defer unix.Close(fd)                                                                                                                                  //nolint:errcheck // nothing is written
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}                                                                    // #nosec G115 -- a descriptor is small
	_, _, failed := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0) // #nosec G103 -- the call takes a structure
	if failed != 0 && !errors.Is(failed, syscall.EBADFD) && !errors.Is(failed, syscall.EINVAL) {                                                          // special files to which rights do not apply
		return os.NewSyscallError("landlock_add_rule", failed)
	}
	return nil
}
