package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"zerodag/internal/lineage"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of all descendants whose own parent ends, because otherwise they could be
// neither found nor reaped.
func adoptOrphans() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// sweep ends all processes that a command left behind. The leader has ended and been reaped.
//
// There are almost never leftovers, so the checks proceed from cheap to expensive: one signal to the group, one check
// of our children, and only then a search of all processes. It returns how many were still running.
func (d *Driver) sweep(g *group, number int) (running int) {
	for syscall.Kill(-g.id, syscall.SIGKILL) == nil {
		var how syscall.WaitStatus
		pid, err := syscall.Wait4(-g.id, &how, 0, nil)
		if err != nil && err != syscall.EINTR {
			break // the rest are not our children yet: they have parents elsewhere
		}
		if pid > 0 && how.Signaled() && how.Signal() == syscall.SIGKILL {
			running++
		}
	}
	mark := d.mark(number)
	for hasChildren() && d.hasStrays(number) {
		found := d.freezeMarked(func(m string) bool { return m == mark })
		if len(found) == 0 {
			break // they belong to another command
		}
		endAll(found)
		running += len(found)
	}
	d.end(number)
	if d.options.Alone && hasChildren() {
		d.endStrangers()
	}
	return running
}

// freezeMarked stops the processes whose mark matches, and all their descendants.
func (d *Driver) freezeMarked(mine func(mark string) bool) []int {
	return freeze(func() ([]int, bool) { return d.marked(mine) })
}

// freeze stops processes until no new ones appear: while processes are being killed one by one, others may fork;
// stopped ones cannot.
func freeze(find func() (pids []int, unsure bool)) []int {
	var list []int
	stopped := map[int]bool{}
	for quiet := 0; quiet < mostQuiet; quiet++ {
		found, unsure := find()
		for _, pid := range found {
			if !stopped[pid] {
				syscall.Kill(pid, syscall.SIGSTOP)
				stopped[pid], quiet = true, -1
				list = append(list, pid)
			}
		}
		if quiet >= 0 && !unsure {
			break
		}
		if quiet >= 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return list
}

// mostQuiet is how many times processes that do not show a mark yet are checked again.
const mostQuiet = 50

// endAll kills processes and waits until they are gone.
func endAll(pids []int) {
	killed := map[int]bool{}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
		killed[pid] = true
	}
	for reap(killed); len(killed) > 0; reap(killed) {
		time.Sleep(time.Millisecond) // for those whose parent has yet to end
	}
}

// reap reaps ended processes; a process that is not our child yet becomes one when its parent ends.
func reap(pids map[int]bool) {
	for pid := range pids {
		got, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || syscall.Kill(pid, 0) == syscall.ESRCH {
			delete(pids, pid)
		}
	}
}

// The arguments of waitid(2) that test whether there are children at all.
const (
	anyChild = 0
	wnowait  = 0x01000000
)

func hasChildren() bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, anyChild, 0, 0,
		syscall.WEXITED|syscall.WNOHANG|wnowait, 0, 0)
	return errno != syscall.ECHILD
}

// hasStrays reports whether this process has living children that it adopted and that may belong to the command. It
// also reaps dead ones.
func (d *Driver) hasStrays(number int) bool {
	found := false
	children, known := ownChildren()
	for _, pid := range children {
		found = d.isStray(pid, number) || found
	}
	return found || !known
}

// childrenOf lists the children of the first thread of a process, or returns false if this kernel does not list them.
// For a shell, these are all its children; for this program, nearly all of them are orphans, which the kernel assigns
// to that thread.
func childrenOf(pid int) ([]int, bool) {
	name := strconv.Itoa(pid)
	text, err := readKernel("/proc/" + name + "/task/" + name + "/children")
	if err != nil {
		return nil, false
	}
	return numbers(text), true
}

// ownList is the file that lists this program's children. It stays open: it is read several times for each command, and
// opening it costs ten times as much.
type openList struct {
	mu   sync.Mutex
	file int // 0: it is not open
}

var ownList openList //nolint:gochecknoglobals // there is one for each program

// open opens the file unless it is already open. A program that has run out of descriptors tries again the next time.
func (l *openList) open() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == 0 {
		name := strconv.Itoa(os.Getpid())
		file, err := syscall.Open("/proc/"+name+"/task/"+name+"/children", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		l.file = file
	}
	return l.file, nil
}

// ownChildren is like childrenOf for this program.
func ownChildren() ([]int, bool) {
	file, err := ownList.open()
	if err != nil {
		return nil, false
	}
	var text [2048]byte // less than the kernel returns at a time
	n, err := syscall.Pread(file, text[:], 0)
	if err != nil {
		return nil, false
	}
	if n == len(text) { // there may be more
		return childrenOf(os.Getpid())
	}
	return numbers(text[:n]), true
}

func numbers(text []byte) []int {
	var list []int
	for word := range bytes.FieldsSeq(text) {
		n, _ := strconv.Atoi(string(word)) // the kernel writes only numbers
		list = append(list, n)
	}
	return list
}

// readKernel reads a short file that the kernel generates, with a third of the system calls of os.ReadFile: os.File
// first offers each file to the poller, which never accepts these. It is called for each command.
func readKernel(name string) ([]byte, error) {
	file, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(file)
	text := make([]byte, 0, 256)
	for {
		n, err := syscall.Read(file, text[len(text):cap(text)])
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return text, err
		}
		text = slices.Grow(text[:len(text)+n], 1)
	}
}

// isStray reports whether a child may be a leftover of the given command. Children of other parts of this program are
// in our session, or a copy of this program, or have a mark that identifies them; none of this is true of processes
// that commands start.
func (d *Driver) isStray(pid, number int) bool {
	if d.isRunning(pid) || !isAdopted(pid) {
		return false
	}
	m := d.markOf(pid)
	of, ours := d.numberOf(m)
	if m == lineage.Client || ours && of != number && d.isLive(of) {
		return false
	}
	if d.reapStray(pid, ours) {
		return false
	}
	return !isCopy(pid) || lineage.Of(pid, false) != lineage.None
}

// isAdopted reports whether a child is in a different session than this program.
func isAdopted(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session != ownSession()
}

// reapStray reaps a dead child. Unless known is true, a session leader may be the child of another part of this
// program, which is waiting for it to end.
func (d *Driver) reapStray(pid int, known bool) bool {
	s, there := statusOf(pid)
	if there && !s.dead {
		return false
	}
	session, err := unix.Getsid(pid)
	if known || err == nil && session != pid {
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
	return true
}

// isCopy reports whether a process runs the same program as this one.
func isCopy(pid int) bool {
	theirs, err1 := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	own, err2 := os.Stat("/proc/self/exe")
	return err1 == nil && err2 == nil && os.SameFile(theirs, own)
}

func ownSession() int {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0) // asking about ourselves cannot fail
	return int(id)
}

// isOrphan reports whether a child of ours was adopted.
func (d *Driver) isOrphan(pid int) bool { return !d.isRunning(pid) && isAdopted(pid) && !isCopy(pid) }

// marked finds the processes that carry a wanted mark, and those below them. unsure means that an orphan shows no
// environment, because a program that is just starting has none yet.
func (d *Driver) marked(mine func(mark string) bool) (pids []int, unsure bool) {
	all, self := processes(), os.Getpid()
	found, alive, blank := map[int]bool{}, map[int]bool{}, []status(nil)
	for _, p := range all {
		alive[p.pid] = !p.dead
		if p.pid == self || p.dead {
			continue
		}
		number, ours := d.numberOf(d.markOf(p.pid))
		if ours && (lineage.Of(p.pid, false) != lineage.None || !isCopy(p.pid)) {
			found[p.pid] = mine(d.mark(number))
			continue
		}
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case carries(env, mine):
			found[p.pid] = true
		case len(env) == 0:
			blank = append(blank, p)
		}
	}
	unsure = slices.ContainsFunc(blank, func(p status) bool {
		return p.parent != 0 && !alive[p.parent] || p.parent == self && d.isOrphan(p.pid)
	})
	grow(all, found)
	return living(all, found), unsure
}

// living returns the given processes that have not ended.
func living(all []status, some map[int]bool) (pids []int) {
	for _, p := range all {
		if some[p.pid] && !p.dead {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// grow adds all descendants of a set's processes to the set.
func grow(all []status, set map[int]bool) {
	for more := true; more; {
		more = false
		for _, p := range all {
			if set[p.parent] && !set[p.pid] {
				set[p.pid], more = true, true
			}
		}
	}
}

// carries reports whether an environment, as the kernel shows it, has a matching mark in its list.
func carries(environ []byte, mine func(mark string) bool) bool {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		value, isMark := bytes.CutPrefix(variable, []byte(markName+"="))
		if isMark && slices.ContainsFunc(strings.Split(string(value), ","), mine) {
			return true
		}
	}
	return false
}
