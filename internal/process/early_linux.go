package process

import (
	"os"
	"strconv"
	"strings"

	"zerodag/internal/lineage"
)

// markEarly marks what a command started before it was marked itself: until then all of it has
// no more than the mark that it was lent, which anybody may change (su does). A process is marked
// before its children are looked for: who comes later inherits the mark.
func (d *Driver) markEarly(leader, number int) {
	m := d.base + lineage.Mark(number)
	markBelow(leader, m)
	for _, pid := range childrenOf(os.Getpid()) {
		if lineage.Of(pid, true) == m && lineage.Of(pid, false) != m && !d.isRunning(pid) && isAdopted(pid) {
			lineage.Set(pid, m) // its parent is over: it is ours now
			markBelow(pid, m)
		}
	}
}

func markBelow(pid int, m lineage.Mark) {
	for _, child := range childrenOf(pid) {
		lineage.Set(child, m)
		markBelow(child, m)
	}
}

// childrenOf lists the children of the first thread of a process: those of a shell are all, those
// of this program are nearly all orphans.
func childrenOf(pid int) []int {
	name := strconv.Itoa(pid)
	text, err := os.ReadFile("/proc/" + name + "/task/" + name + "/children")
	if err != nil {
		return nil
	}
	var list []int
	for word := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			list = append(list, child)
		}
	}
	return list
}
