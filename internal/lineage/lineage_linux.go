package lineage

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// fileLocks is RLIMIT_LOCKS of getrlimit(2).
const fileLocks = 10

// Set marks a process and all processes that it starts from now on.
func Set(pid int, m Mark) error {
	return unix.Prlimit(pid, fileLocks, &unix.Rlimit{Cur: uint64(m), Max: uint64(m)}, nil)
}

// Start calls start, and lends the started process a mark from the beginning, so that processes that it starts before
// Set are also marked. Any other process that this program starts in the meantime also gets the mark, so a lent mark
// does not always count: see Of. Calls run one after the other, because the lent mark is a limit that applies to the
// whole program.
func Start(m Mark, start func() error) error {
	starting.Lock()
	defer starting.Unlock()
	var own unix.Rlimit
	if unix.Prlimit(0, fileLocks, nil, &own) != nil || uint64(m) > own.Max {
		return start()
	}
	unix.Prlimit(0, fileLocks, &unix.Rlimit{Cur: uint64(m), Max: own.Max}, nil)
	defer unix.Prlimit(0, fileLocks, &own, nil)
	return start()
}

// starting is held while a mark is lent.
var starting sync.Mutex //nolint:gochecknoglobals // the limit that it guards is the program's, too

// Of returns a process's mark; lent selects whether a lent mark counts. Only a permanent mark identifies a process
// reliably: lent marks are below it, and any process may change them.
func Of(pid int, lent bool) Mark {
	var limit unix.Rlimit
	if unix.Prlimit(pid, fileLocks, nil, &limit) != nil {
		return shown(pid)
	}
	if lent && limit.Max == ownMost() {
		return Mark(limit.Cur)
	}
	return Mark(limit.Max)
}

// ownMost returns this program's limit, which its children have until they are marked.
var ownMost = sync.OnceValue(func() uint64 {
	own := unix.Rlimit{Max: unix.RLIM_INFINITY}
	unix.Prlimit(0, fileLocks, nil, &own) // cannot fail for our own process
	return own.Max
})

// shown reads the mark of another user's process if the system forbids the call.
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
