package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of everything below it whose own parent
// ends: only so can it be found and reaped.
func adoptOrphans() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// sweep ends what a command left behind. The leader is over and reaped.
//
// Nearly always nothing is left, so the questions are asked from cheap to dear: one
// signal to the group, one look at our children, and only then a search of all processes.
func (d *Driver) sweep(group int, mark string) {
	for syscall.Kill(-group, syscall.SIGKILL) == nil {
		if _, err := syscall.Wait4(-group, nil, 0, nil); err != nil && err != syscall.EINTR {
			break // the rest are no children of ours yet: they have parents elsewhere
		}
	}
	if !hasChildren() {
		return
	}
	for d.hasStrays() {
		found := d.freeze(func(m string) bool { return m == mark })
		if len(found) == 0 {
			return // they are another command's
		}
		endAll(found)
	}
}

// freeze stops the processes that carry such a mark, and all below them, until there are no
// new ones: what is killed one by one may fork meanwhile, what is stopped does not.
func (d *Driver) freeze(mine func(mark string) bool) []int {
	var list []int
	stopped := map[int]bool{}
	for quiet := 0; quiet < mostQuiet; quiet++ {
		found, unsure := d.marked(mine)
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

// mostQuiet is how often processes are looked at again that do not show a mark yet.
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

// reap takes away the ended ones; one that is not ours yet will be, when its parent ends.
func reap(pids map[int]bool) {
	for pid := range pids {
		got, _ := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || syscall.Kill(pid, 0) == syscall.ESRCH {
			delete(pids, pid)
		}
	}
}

// The arguments of waitid(2) that ask whether there are children at all.
const (
	anyChild = 0
	wnowait  = 0x01000000
)

func hasChildren() bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, anyChild, 0, 0,
		syscall.WEXITED|syscall.WNOHANG|wnowait, 0, 0)
	return errno != syscall.ECHILD
}

// hasStrays says whether this process has living children that it adopted. Dead ones are
// reaped on the way. The kernel gives orphans to the first thread.
func (d *Driver) hasStrays() bool {
	self := strconv.Itoa(os.Getpid())
	text, err := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
	if err != nil {
		return true // this kernel does not say
	}
	found := false
	for _, word := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(word)
		found = !d.isRunning(pid) && isStray(pid) || found
	}
	return found
}

// isStray tells an adopted process from one that other parts of this program started:
// those are in our group, or lead a group in our session.
func isStray(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 4 {
		return false
	}
	group, _ := strconv.Atoi(fields[2])
	session, _ := strconv.Atoi(fields[3])
	if group == syscall.Getpgrp() || group == pid && session == ownSession() && fields[0] == "Z" {
		return false
	}
	if fields[0] == "Z" {
		syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		return false
	}
	return true
}

func ownSession() int {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0) // of ourselves: cannot fail
	return int(id)
}

// marked finds the processes that carry a mark which is one of those meant, and those below
// them. unsure says that an orphan shows no environment: that of a program which is just
// starting is not there yet.
func (d *Driver) marked(mine func(mark string) bool) (pids []int, unsure bool) {
	all, self := processes(), os.Getpid()
	found, alive, blank := map[int]bool{}, map[int]bool{}, []status(nil)
	for _, p := range all {
		alive[p.pid] = !p.dead
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		switch {
		case p.pid == self || p.dead || errors.Is(err, fs.ErrNotExist):
		case carries(env, mine):
			found[p.pid] = true
		case len(env) == 0:
			blank = append(blank, p)
		}
	}
	for _, p := range blank {
		unsure = unsure || p.parent != 0 && !alive[p.parent] || p.parent == self && !d.isRunning(p.pid) && isStray(p.pid)
	}
	grow(all, found)
	for _, p := range all {
		if found[p.pid] && !p.dead {
			pids = append(pids, p.pid)
		}
	}
	return pids, unsure
}

// grow adds all processes that are below those of a set.
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

// carries says whether an environment, as the kernel shows it, has such a mark in its list.
func carries(environ []byte, mine func(mark string) bool) bool {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		value, isMark := bytes.CutPrefix(variable, []byte(markName+"="))
		if isMark && slices.ContainsFunc(strings.Split(string(value), ","), mine) {
			return true
		}
	}
	return false
}
