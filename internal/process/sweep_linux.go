package process

import (
	"bytes"
	"os"
	"path/filepath"
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
	if !hasChildren() || !d.hasStrays() {
		return
	}
	mine := func(m string) bool { return m == mark }
	for found := marked(mine); len(found) > 0; found = marked(mine) {
		endAll(found)
	}
}

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

// marked finds the processes that carry a mark which is one of those meant.
func marked(mine func(mark string) bool) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !carries(env, mine) {
			continue
		}
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))); pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
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
