package process

import (
	"hash/fnv"
	"strconv"

	"zerodag/internal/lineage"
)

// markName is the variable by which the processes of a command are found if the system has no other mark for them. If a
// command runs this program, the value also lists the outer commands.
const markName = "ZERODAG_COMMAND"

// numberBits is how many bits of a mark hold the command's number; the higher bits distinguish drivers.
const numberBits = 32

// baseOf returns the mark of a driver's command number 0. It is the same after a restart and is below lineage.Client.
func baseOf(name string) lineage.Mark {
	f := fnv.New32a()
	f.Write([]byte(name))
	return lineage.Mark(f.Sum32()>>3|1) << numberBits
}

// begin assigns a command its number; end records that no process of the command is left.
func (d *Driver) begin() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	d.live[d.count] = true
	return d.count
}

func (d *Driver) end(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.live, number)
}

func (d *Driver) mark(number int) string { return d.name + "-" + strconv.Itoa(number) }

// markOf returns the mark of a process. A program that has its own children may have passed a command's mark on to them
// by mistake.
func (d *Driver) markOf(pid int) lineage.Mark { return lineage.Of(pid, d.options.Alone) }

// numberOf returns the number of this driver's command to which a mark belongs.
func (d *Driver) numberOf(m lineage.Mark) (number int, ours bool) {
	return int(m & (1<<numberBits - 1)), m>>numberBits == d.base>>numberBits
}

// isLive reports whether a command is running or its leftovers are being removed.
func (d *Driver) isLive(number int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[number]
}
