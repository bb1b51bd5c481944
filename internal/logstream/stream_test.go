package logstream

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// TestLevels proves that each level shows its own and more severe lines, that lines of an unknown level are shown
// instead of lost, and that other names are not levels.
func TestLevels(t *testing.T) {
	t.Parallel()
	for i, name := range Levels() {
		level, known := LevelOf(name)
		if !known || int(level) != i {
			t.Errorf("%s: %d, %v", name, level, known)
		}
		for n, other := range Levels() {
			if got := level.Shows(operators.Level(strings.ToUpper(other))); got != (n <= i) {
				t.Errorf("%s shows %s: %v", name, other, got)
			}
		}
		if !level.Shows("NOTICE") {
			t.Errorf("%s hides a level that nobody knows", name)
		}
	}
	for _, name := range []string{"", "INFO", "warning", "error "} {
		if level, known := LevelOf(name); known {
			t.Errorf("%q is %d", name, level)
		}
	}
}

// TestLimit proves that Limit can reduce the output of a stream, but never increase it.
func TestLimit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := New(&out, 2, tasklog.Short)
	s.Message(operators.Info, "a", "one")
	s.Message(operators.Debug, "a", "two")
	s.Limit(Warn)
	s.Limit(4)
	s.Message(operators.Info, "a", "three")
	s.Message(operators.Warn, "a", "four")
	if err := s.Flush(); err != nil || s.Level() != Warn {
		t.Errorf("level %d, %v", s.Level(), err)
	}
	for text, want := range map[string]bool{"one\n": true, "two": false, "three": false, "four\n": true} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q: %v in %q", text, !want, out.String())
		}
	}
}

// TestTaskLines proves that the lines of tasks that print concurrently stay intact, that each format shows the task's
// name, and that a task's output is shown regardless of the level.
func TestTaskLines(t *testing.T) {
	t.Parallel()
	for _, form := range []tasklog.Form{tasklog.Short, tasklog.Digdag} {
		var out strings.Builder
		s := New(&out, 0, form)
		var wait sync.WaitGroup
		for n := range 4 {
			wait.Go(func() {
				log := s.Task(operators.Identity{TaskName: fmt.Sprint("+w+t", n)})
				for range 100 {
					fmt.Fprintf(log, "printed by %d\n", n)
					log.Echo(fmt.Sprint("echoed by ", n))
					log.Line(operators.Error, "OperatorManager", fmt.Sprint("said of ", n))
					log.Line(operators.Info, "OperatorManager", "hidden")
				}
			})
		}
		wait.Wait()
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4*300 {
			t.Fatalf("%s: %d lines", form, len(lines))
		}
		for _, line := range lines {
			at := strings.LastIndexByte(line, ' ')
			number := line[at+1:]
			switch {
			case line == "printed by "+number, line == "echoed by "+number:
			case strings.HasSuffix(line, "said of "+number) && strings.Contains(line, "[ERROR]") && strings.Contains(line, "+w+t"+number):
			default:
				t.Fatalf("%s: %q", form, line)
			}
		}
	}
}

// TestShownSoon proves that text that follows a line within moments is written without another line or a flush.
func TestShownSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := New(&out, 2, tasklog.Short)
		s.Write([]byte("at once\n"))
		if out.String() != "at once\n" {
			t.Errorf("the first line: %q", out.String())
		}
		s.Write([]byte("soon\n"))
		time.Sleep(2 * flushEvery)
		synctest.Wait()
		if out.String() != "at once\nsoon\n" {
			t.Errorf("the second line: %q", out.String())
		}
	})
}

// full is a writer whose disk is full.
type full struct{ io.Writer }

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space")

// TestFullStream proves that a log that cannot be written causes an error at the end, but does not make earlier lines
// fail.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s := New(full{}, 2, tasklog.Short)
	for range 3 {
		if n, err := s.Write([]byte(strings.Repeat("x", 1<<16))); n != 1<<16 || err != nil {
			t.Errorf("a line: %d, %v", n, err)
		}
		s.Message(operators.Info, "a", "text")
	}
	if err := s.Flush(); !errors.Is(err, errFull) {
		t.Errorf("at the end: %v", err)
	}
}
