package limits

import (
	"os"
	"strconv"
	"strings"
)

// OOMKills counts the processes that the kernel has killed for lack of memory. It reads the counters of this container
// and of this machine, because neither includes all of them. The count never decreases; an increase while a command ran
// explains a kill. It is 0 on systems other than Linux.
func OOMKills() (n int) {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if _, after, found := strings.Cut("\n"+string(text), "\noom_kill "); found {
			word, _, _ := strings.Cut(after, "\n")
			kills, _ := strconv.Atoi(strings.TrimSpace(word)) // the kernel always writes a number
			n += kills
		}
	}
	return n
}
