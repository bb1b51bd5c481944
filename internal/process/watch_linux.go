package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// status is the status of a process according to the kernel.
type status struct {
	pid, parent, group int
	threads            int
	dead               bool
	memory             int64 // bytes in RAM
	began              int64 // in ticks since the machine was started
}

// usage returns how many processes a command has and how many bytes of memory they use.
func (d *Driver) usage(leader, number int) (count int, memory int64) {
	all := processes()
	self := os.Getpid()
	mine := map[int]bool{}
	for _, p := range all {
		if p.pid == leader || p.group == leader || p.parent == self && !d.isRunning(p.pid) && d.belongs(p.pid, number) {
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

// belongs reports whether a process belongs to a command, judging by its mark or, if it has none, by its environment.
func (d *Driver) belongs(pid, number int) bool {
	if of, ours := d.numberOf(d.markOf(pid)); ours {
		return of == number
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	mark := d.mark(number)
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
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n } // the kernel writes only numbers there
	return status{pid: pid, parent: number(1), group: number(2), threads: number(17), dead: fields[0] == "Z" || fields[0] == "X", memory: int64(number(21)) * int64(os.Getpagesize()), began: int64(number(19))}, true
}
