package process

import (
	"zerodag/internal/lineage"
)

// markEarly marks the processes that a command started before it was marked itself: until then, they have only the mark
// inherited through the environment, which any process may change (su does). A process is marked before its children
// are searched: later children inherit the mark.
func (d *Driver) markEarly(leader, number int) {
	m := d.base + lineage.Mark(number)
	markBelow(leader, m)
	orphans, _ := ownChildren()
	for _, pid := range orphans {
		if lineage.Of(pid, true) == m && lineage.Of(pid, false) != m && !d.isRunning(pid) && isAdopted(pid) && !isCopy(pid) {
			lineage.Set(pid, m) // its parent has ended: it is ours now
			markBelow(pid, m)
		}
	}
}

func markBelow(pid int, m lineage.Mark) {
	children, _ := childrenOf(pid)
	for _, child := range children {
		lineage.Set(child, m)
		markBelow(child, m)
	}
}
