package security

import (
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestM6_TooFewDescriptorsFailNoWorkflow checks that commands wait when the server may open few
// files, however many tasks run at once, and that their logs are complete.
func TestM6_TooFewDescriptorsFailNoWorkflow(t *testing.T) {
	t.Parallel()
	const tasks = 150
	for _, files := range []int{52, 64, 200} {
		s := prepare(t)
		s.before = fmt.Sprintf("ulimit -n %d", files)
		s.boot()
		workflow := "_parallel: true\n"
		for i := range tasks {
			workflow += fmt.Sprintf("+t%d:\n  sh>: echo said-$$((%d+1000)); sleep 0.1\n", i, i)
		}
		ok, log := s.run("p", workflow)
		if n := strings.Count(log, "\nsaid-1"); !ok || n != tasks {
			t.Errorf("%d files: succeeded %v, %d of %d logs\n%.9000s", files, ok, n, tasks, unexpected(log))
		}
	}
}

// unexpected returns the part of a log that is neither the output of these commands nor about them, and the tasks with
// an error.
func unexpected(log string) string {
	var left []string
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "said-1") && !strings.Contains(line, ": sh>: echo said-") {
			left = append(left, line)
		}
	}
	return errorless.ReplaceAllString(strings.Join(left, ""), "")
}

var errorless = regexp.MustCompile(`\{[^{}]*(\{[^{}]*\}[^{}]*)*"error":\{\}[^{}]*\}`)

// TestM10_WorkspacesAreBoundedTogether checks that copies of a project for many concurrent tasks do not exceed the disk
// limit, that tasks wait for space, and that a task that can never get enough fails with an error.
func TestM10_WorkspacesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	const most = 100 << 20
	s := prepare(t, "-X", "agent.workspaces.disk=100m")
	s.boot()
	files := map[string]string{"zeros": strings.Repeat("\x00", 30<<20), "main.dig": "_parallel: true\n"}
	for i := range 12 {
		files["main.dig"] += fmt.Sprintf("+t%d: {sh>: \"sleep 0.2; date >new\"}\n", i)
	}
	if status, answer := s.pushArchive("p", archive(files)); status != http.StatusOK {
		t.Fatal(answer)
	}
	a := s.startLatest("p")
	largest := int64(0)
	var done struct{ Done, Success bool }
	until(t, "the attempt is done", func() bool {
		total := int64(0)
		filepath.WalkDir(s.data(), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && d.Name() == "zeros" && !strings.Contains(name, "/archive/") {
				if info, err := d.Info(); err == nil {
					total += info.Size()
				}
			}
			return nil
		})
		largest = max(largest, total)
		s.send("GET", "/api/attempts/"+a, "", nil, &done)
		return done.Done
	})
	if !done.Success || largest > most || largest == 0 {
		t.Errorf("succeeded %v, %d bytes:\n%s", done.Success, largest, s.tasks(a))
	}
	files["zeros"] = strings.Repeat("\x00", 101<<20)
	if status, answer := s.pushArchive("large", archive(files)); status != http.StatusOK {
		t.Fatal(answer)
	}
	a = s.startLatest("large")
	if s.succeeded(a) || !strings.Contains(s.tasks(a), "agent.workspaces.disk") {
		t.Errorf("got %.1000s", s.tasks(a))
	}
}
