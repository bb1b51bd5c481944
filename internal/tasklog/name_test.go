package tasklog

import (
	"strings"
	"testing"
	"time"
)

// TestFilesOfATask proves that only the files of a task are found by its name, even if file systems would not accept
// the name unchanged.
func TestFilesOfATask(t *testing.T) {
	t.Parallel()
	tasks := []string{"+wf", "+wf+a", "+wf+a@b", "+wf+a/b", strings.Repeat("+long", 60) + "+x", strings.Repeat("+long", 60) + "+y", strings.Repeat("+é", 60), strings.Repeat("+é", 70), strings.Repeat("+é", 125)}
	for _, agent := range []string{"", "1@host", strings.Repeat("h", 300)} {
		for _, task := range tasks {
			name := Name(task, agent, time.Unix(1, 2))
			f, ok := ParseName(name)
			if !ok || !strings.HasPrefix(name, Prefix(task)) || len(name) > LongestName {
				t.Errorf("%q of %q: %v, looked for by %q", name, task, ok, Prefix(task))
			}
			for _, other := range tasks {
				if IsOf(f, other) != (other == task) {
					t.Errorf("%q is said to be of %q: %v", name, other, IsOf(f, other))
				}
			}
		}
	}
}
