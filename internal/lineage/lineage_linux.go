package lineage

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileLocks is RLIMIT_LOCKS of getrlimit(2).
const fileLocks = 10

// Set marks a process, and what it starts from now on.
func Set(pid int, m Mark) error {
	return unix.Prlimit(pid, fileLocks, &unix.Rlimit{Cur: uint64(m), Max: uint64(m)}, nil)
}

// Of returns the mark of a process.
func Of(pid int) Mark {
	var limit unix.Rlimit
	if unix.Prlimit(pid, fileLocks, nil, &limit) == nil {
		return Mark(limit.Max)
	}
	return shown(pid)
}

// shown reads the mark of another user's process where the system forbids to ask for it.
func shown(pid int) Mark {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return None
	}
	_, after, _ := bytes.Cut(text, []byte("\nMax file locks"))
	fields := strings.Fields(string(after))
	if len(fields) < 2 {
		return None
	}
	n, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil { // "unlimited"
		return None
	}
	return Mark(n)
}
