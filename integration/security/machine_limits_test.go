package security

import (
	"fmt"
	"strings"
	"testing"
)

// TestM6_TooFewDescriptorsFailNoWorkflow proves that commands wait when the server may open few
// files, however many tasks run at once, and that their logs are complete.
func TestM6_TooFewDescriptorsFailNoWorkflow(t *testing.T) {
	t.Parallel()
	const tasks = 150
	for _, files := range []int{64, 200} {
		s := newMachineServer(t)
		s.before = fmt.Sprintf("ulimit -n %d", files)
		s.start()
		workflow := "_parallel: true\n"
		for i := range tasks {
			workflow += fmt.Sprintf("+t%d:\n  sh>: echo said-$$((%d+1000)); sleep 0.1\n", i, i)
		}
		ok, log := s.run("p", workflow)
		if n := strings.Count(log, "\nsaid-1"); !ok || n != tasks {
			t.Errorf("%d files: succeeded %v, %d of %d logs\n%.3000s", files, ok, n, tasks, log)
		}
	}
}
