package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// status is what the kernel says of a process.
type status struct {
	pid, parent, group int
	threads            int
	dead               bool
	memory             int64 // bytes in RAM
}

// usage counts the processes of a command, and the bytes of memory that they have.
func (d *Driver) usage(leader int, mark string) (count int, memory int64) {
	all := processes()
	self := os.Getpid()
	mine := map[int]bool{}
	for _, p := range all {
		if p.pid == leader || p.group == leader || p.parent == self && !d.isRunning(p.pid) && hasMark(p.pid, mark) {
			mine[p.pid] = true
		}
	}
	grow(all, mine)
	for _, p := range all {
		if mine[p.pid] && !p.dead {
			count++
			memory += p.memory
		}
	}
	return count, memory
}

func hasMark(pid int, mark string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && carries(env, func(m string) bool { return m == mark })
}

func processes() []status {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []status
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if s, ok := statusOf(pid); ok {
			list = append(list, s)
		}
	}
	return list
}

func statusOf(pid int) (status, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return status{}, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return status{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n } // the kernel's: always numbers
	return status{pid: pid, parent: number(1), group: number(2), threads: number(17), dead: fields[0] == "Z" || fields[0] == "X", memory: int64(number(21)) * int64(os.Getpagesize())}, true
}
