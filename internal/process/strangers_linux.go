package process

import (
	"maps"
	"slices"
	"sync"
	"weak"

	"zerodag/internal/lineage"
)

// stranger is a process that an unknown command left behind, because the process was allowed to change its mark. It may
// belong to any command that was running when it was first seen.
type stranger struct {
	began int64        // when it was started, to distinguish it from a later process with the same number
	of    map[int]bool // commands that it may belong to and that have not ended yet
}

// drivers holds the drivers of this program that are in use. A driver that is alone has no others, but drivers in tests
// and in programs that embed the command line may have some.
var drivers struct { //nolint:gochecknoglobals // the processes below this program are its own, whichever driver started them
	mu  sync.Mutex
	all []weak.Pointer[Driver]
}

// join registers a driver.
func (d *Driver) join() {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	drivers.all = append(slices.DeleteFunc(drivers.all, func(p weak.Pointer[Driver]) bool { return p.Value() == nil }), weak.Make(d))
}

// others returns all drivers except this one.
func (d *Driver) others() []*Driver {
	drivers.mu.Lock()
	defer drivers.mu.Unlock()
	var list []*Driver
	for _, p := range drivers.all {
		if o := p.Value(); o != nil && o != d {
			list = append(list, o)
		}
	}
	return list
}

// ofAnother reports whether a process belongs, or may belong, to a command of another driver, which will end it.
func (d *Driver) ofAnother(pid int, m lineage.Mark) bool {
	return slices.ContainsFunc(d.others(), func(o *Driver) bool {
		_, theirs := o.numberOf(m)
		return theirs || o.isRunning(pid) || o.isBusy()
	})
}

// isBusy reports whether a command is running or its leftovers are being removed.
func (d *Driver) isBusy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live) > 0
}

// endStrangers ends the strangers whose command has certainly ended. It is called whenever a command has ended.
func (d *Driver) endStrangers() {
	children, known := ownChildren()
	if !known {
		return
	}
	roots := map[int]bool{}
	for _, pid := range children {
		if d.isOver(pid) {
			roots[pid] = true
		}
	}
	d.forgetStrangers(children)
	if len(roots) == 0 {
		return
	}
	endAll(freeze(func() ([]int, bool) { return below(roots), false }))
}

// isOver reports whether a child belongs to a command that has ended.
func (d *Driver) isOver(pid int) bool {
	if d.isRunning(pid) || !isAdopted(pid) {
		return false
	}
	m := d.markOf(pid)
	number, ours := d.numberOf(m)
	live := ours && d.isLive(number)
	switch {
	case m == lineage.Client, live, isCopy(pid) && lineage.Of(pid, false) == lineage.None, d.reapStray(pid, ours && !live):
		return false
	case ours:
		return true
	case d.ofAnother(pid, m):
		return false
	}
	return d.outlived(pid)
}

// outlived reports whether all commands that were running when a process was first seen have ended.
func (d *Driver) outlived(pid int) bool {
	status, there := statusOf(pid)
	if !there {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.strange[pid]
	if s == nil || s.began != status.began {
		s = &stranger{began: status.began, of: maps.Clone(d.live)}
		d.strange[pid] = s
	}
	maps.DeleteFunc(s.of, func(number int, _ bool) bool { return !d.live[number] })
	return len(s.of) == 0
}

func (d *Driver) forgetStrangers(children []int) {
	still := map[int]bool{}
	for _, pid := range children {
		still[pid] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.strange, func(pid int, _ *stranger) bool { return !still[pid] })
}

// below lists the given processes that are alive, and all their descendants.
func below(roots map[int]bool) (pids []int) {
	all, set := processes(), maps.Clone(roots)
	grow(all, set)
	for _, p := range all {
		if set[p.pid] && !p.dead {
			pids = append(pids, p.pid)
		}
	}
	return pids
}
