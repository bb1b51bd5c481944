//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// users assigns each command a separate user, so that commands cannot see each other, and everything that a command
// leaves behind can be found by its user. This requires root.
type users struct {
	separate bool

	mu   sync.Mutex
	next int
}

func newUsers() *users {
	return &users{separate: os.Getuid() == 0 && maySetUser(), next: firstUser()}
}

// firstUser returns a random number above the ones used by images, so that two runners on one machine do not collide. A
// number is never reused: nothing that an earlier command left belongs to a later one.
func firstUser() int {
	const above, each = 200_000, 10_000
	text, _ := os.ReadFile("/proc/self/uid_map") // without it, there are few
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return above
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil || n < 1<<31-1 {
		return max(1000, n/2) // a user namespace has only some of them
	}
	return above + each*rand.IntN((1<<31-1-above)/each) // #nosec G404 -- the user need not be secret, only different from those of other commands
}

// maySetUser reports whether root may become another user here: a container can forbid it.
func maySetUser() bool {
	const capSetuid, capSetgid, capKill, capChown = 7, 6, 5, 0
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			const need = 1<<capSetuid | 1<<capSetgid | 1<<capKill | 1<<capChown
			return err == nil && bits&need == need
		}
	}
	return false
}

// user returns the user of a command; 0 is this program's own.
func (u *users) user() int {
	if !u.separate {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next++
	return u.next
}

// prSetDumpable is PR_SET_DUMPABLE of prctl(2), prSetChildSubreaper PR_SET_CHILD_SUBREAPER.
const (
	prSetDumpable       = 4
	prSetChildSubreaper = 36
)

// hide protects the environment and the memory of this process, including the token, from other processes of the same
// user, and makes it the parent of all orphans below it. Lambda refuses both.
func hide() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	adoptsOrphans()
}

// adoptsOrphans makes this process the parent of all orphans below it. It reports false in the sandbox of a function,
// which refuses that and runs nothing else: there, all processes of this user except the ancestors of this one belong
// to the command.
var adoptsOrphans = sync.OnceValue(func() bool {
	_, function := os.LookupEnv("LAMBDA_TASK_ROOT")
	_, _, refused := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	return refused == 0 || !function
})

// process is a process in /proc, according to its status file: the folder of a hidden process belongs to root.
type process struct {
	pid, parent, user int
	memory            int64 // bytes in RAM
	dead              bool
}

// processes lists all processes.
func processes() []process {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // as many as could be read
	var list []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return process{}, false
	}
	p := process{pid: pid, user: -1}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		value, _, _ = strings.Cut(strings.TrimSpace(value), "\t")
		number := func() int { n, _ := strconv.Atoi(strings.TrimSuffix(value, " kB")); return n } // always a number
		switch name {
		case "State":
			p.dead = strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X")
		case "PPid":
			p.parent = number()
		case "Uid":
			p.user = number()
		case "VmRSS":
			p.memory = int64(number()) << 10
		case "Threads": // comes after all of these
			return p, p.user >= 0
		}
	}
	return p, p.user >= 0
}

// members returns the processes of a command: those of its user or, if it has no separate user, everything below this
// program, which then runs one command at a time.
func members(user int) []process {
	self := os.Getpid()
	all := processes()
	if user == 0 && !adoptsOrphans() {
		return strangers(all, self)
	}
	var list []process
	below := map[int]bool{self: true}
	for grown := user == 0; grown; {
		grown = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grown = true, true
			}
		}
	}
	for _, p := range all {
		if user != 0 && p.user == user || user == 0 && below[p.pid] && p.pid != self {
			list = append(list, p)
		}
	}
	return list
}

// strangers returns the processes of this program's user, except itself and its ancestors.
func strangers(all []process, self int) (list []process) {
	parents := map[int]int{}
	for _, p := range all {
		parents[p.pid] = p.parent
	}
	ours := map[int]bool{}
	for pid := self; pid != 0 && !ours[pid]; pid = parents[pid] {
		ours[pid] = true
	}
	for _, p := range all {
		if !ours[p.pid] && p.user == os.Getuid() {
			list = append(list, p)
		}
	}
	return list
}

// signalAll sends a signal to every live process of a command, and returns how many there are.
func signalAll(user int, s syscall.Signal) int {
	n := 0
	for _, p := range members(user) {
		if !p.dead && syscall.Kill(p.pid, s) == nil {
			n++
		}
	}
	return n
}

// sweep ends everything that a command left, however often it forks in the meantime. Its first process has ended and
// was reaped.
func sweep(user int) {
	for {
		left := 0
		for _, p := range members(user) {
			if !p.dead && syscall.Kill(p.pid, syscall.SIGKILL) == nil {
				left++
			}
			p.reap()
		}
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// reap reaps dead orphans of a command, except its first process, for which this program waits.
func reap(user, first int) {
	for _, p := range members(user) {
		if p.pid != first {
			p.reap()
		}
	}
}

// reap reaps a process if it is dead and a child of this one.
func (p process) reap() {
	if p.dead && p.parent == os.Getpid() {
		syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
	}
}
