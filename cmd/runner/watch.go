//go:build linux

package main

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How often a command's processes are counted, and how often all its limits are checked.
const (
	countTime = 25 * time.Millisecond
	watchTime = time.Second
	slowDisk  = 30 * time.Second // between two measurements of a large folder
)

// watch ends the command if necessary: it was killed, timed out, or exceeded a limit.
func (c *command) watch(ctx context.Context) {
	var late <-chan time.Time
	if c.Spec.Limits.Seconds > 0 {
		timer := time.NewTimer(c.Spec.Limits.time())
		defer timer.Stop()
		late = timer.C
	}
	count, tick := time.NewTicker(countTime), time.NewTicker(watchTime)
	defer count.Stop()
	defer tick.Stop()
	disk := diskWatch{limit: c.Spec.Limits.Disk}
	for {
		select {
		case <-c.ended:
			return
		case <-ctx.Done():
			c.stop()
			return
		case <-late:
			c.end(tooLong(c.Spec.Limits.time()))
		case <-c.refused: // a fork bomb may be over before the next count
			c.count()
		case <-count.C:
			c.count()
		case <-tick.C:
			reap(c.user, c.pid)
			switch {
			case c.Spec.Limits.Memory > 0 && memoryOf(members(c.user)) > c.Spec.Limits.Memory:
				c.end(outOfMemory(c.Spec.Limits.Memory))
			case disk.full(filepath.Dir(c.root)):
				c.end(tooMuchDisk(c.Spec.Limits.Disk))
			}
		}
	}
}

// count ends the command if it has too many processes.
func (c *command) count() {
	if most := c.Spec.Limits.Processes; howMany() > most && living(c.user) > most {
		c.end(tooManyProcesses(most))
	}
}

// end kills the command, for a reason.
func (c *command) end(why string) {
	c.why.set(why)
	go func() {
		for range 100 { // processes forked in the meantime are killed in the next iteration
			select {
			case <-c.ended:
				return
			default:
				if c.pid != 0 {
					signalAll(c.user, syscall.SIGKILL)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
}

// stop asks the whole command to end and, after the grace time, kills it.
func (c *command) stop() {
	signalAll(c.user, syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(c.grace):
		c.end("killed")
	}
}

// living counts the live processes of a command.
func living(user int) int {
	n := 0
	for _, p := range members(user) {
		if !p.dead {
			n++
		}
	}
	return n
}

// howMany counts all processes, which is cheap.
func howMany() int {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // as many as could be read
	n := 0
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' {
			n++
		}
	}
	return n
}

func memoryOf(list []process) (total int64) {
	for _, p := range list {
		total += p.memory
	}
	return total
}

// diskWatch measures a folder: the longer that takes, the less often.
type diskWatch struct {
	limit int64
	next  time.Time
}

func (d *diskWatch) full(folder string) bool {
	now := time.Now()
	if d.limit == 0 || now.Before(d.next) {
		return false
	}
	var total int64
	filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				if s, ok := info.Sys().(*syscall.Stat_t); ok {
					total += s.Blocks * 512
				}
			}
		}
		return nil // files that vanish in the meantime do not count
	})
	d.next = now.Add(min(max(watchTime, 20*time.Since(now)), slowDisk))
	return total > d.limit
}

// oomKills counts the processes that the kernel has killed for lack of memory: of this container and of this machine,
// since neither count is complete.
func oomKills() (n int) {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
				kills, _ := strconv.Atoi(strings.TrimSpace(rest)) // from the kernel: a number
				n += kills
			}
		}
	}
	return n
}

// The reasons, as in package operators.

func tooLong(limit time.Duration) string {
	return fmt.Sprintf("The command took longer than %v and was killed (sandbox: timeout)", limit)
}

func outOfMemory(limit int64) string {
	if limit == 0 {
		return "The command ran out of memory and was killed: give it more (sandbox: memory)"
	}
	return fmt.Sprintf("The command ran out of memory with %s and was killed: give it more (sandbox: memory)", size(limit))
}

func tooMuchOutput(limit int64) string {
	return fmt.Sprintf("The command wrote more than %s to its log and was killed: write less, or write to a file (sandbox: output)", size(limit))
}

func tooManyProcesses(limit int) string {
	return fmt.Sprintf("The command had more than %d processes and was killed (sandbox: processes)", limit)
}

func tooMuchDisk(limit int64) string {
	return fmt.Sprintf("The command wrote more than %s to its workspace and was killed (sandbox: disk)", size(limit))
}

func size(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if one := int64(1) << (10 * (4 - i)); bytes >= one {
			return strconv.FormatFloat(math.Round(float64(bytes)/float64(one)*10)/10, 'f', -1, 64) + " " + unit
		}
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// reason is why a command was ended: the first one counts.
type reason struct {
	mu   sync.Mutex
	text string
}

func (a *reason) set(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == "" {
		a.text = text
	}
}

func (a *reason) get() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text
}
