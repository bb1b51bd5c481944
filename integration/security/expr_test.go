package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// A task ends within a second on an idle machine, but tests run in parallel on two processors.
	exprPatience = 30 * time.Second
	exprGrowth   = 20 << 20 // bytes by which the server's memory may grow
	exprAtOnce   = 10       // attempts, so that no processor waits for a poll
)

// TestC1_HostileExpressions checks that no expression ends the server, exhausts its memory or runs forever: each ends
// with an error of its task or a value, the server uses no more memory than before, and the next task runs.
func TestC1_HostileExpressions(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	files := map[string]string{"good.dig": "+a:\n  echo>: \"${1+1} ${moment(session_time).format('YYYY')}\"\n"}
	list := append(exprHostile(), exprNested()...)
	if len(list) < 169 {
		t.Fatalf("%d expressions", len(list))
	}
	for i, x := range list {
		files[fmt.Sprintf("x%d.dig", i)] = "+a:\n  echo>: " + exprQuoted("R=${"+x+"}") + "\n"
	}
	ids := s.pushAll(files)
	good := func(after string) {
		t.Helper()
		if a, said := s.finish(s.begin(ids["good"]), exprPatience); !a.Success {
			t.Errorf("after %.80s: a good expression fails: %s", after, said)
		}
	}
	good("the start")
	before := s.memory("VmRSS") << 10
	var longest time.Duration
	failed, most := 0, before
	for first := 0; first < len(list); first += exprAtOnce {
		some := list[first:min(first+exprAtOnce, len(list))]
		began := time.Now()
		var running []attempt
		for i := range some {
			running = append(running, s.begin(ids[fmt.Sprintf("x%d", first+i)]))
		}
		for i, x := range some {
			a, said := s.finish(running[i], exprPatience)
			if !a.Success {
				failed++
				if !strings.Contains(said, "Failed to evaluate a variable") {
					t.Errorf("%.80s: the error is %.300s", x, said)
				}
			}
			most = max(most, s.memory("VmRSS")<<10)
		}
		longest = max(longest, time.Since(began))
		good(some[len(some)-1])
	}
	good("all")
	t.Logf("%d expressions: %d errors, %d at once took %v at most, memory %d MiB before, at most %d MiB", len(list), failed, exprAtOnce, longest, before>>20, most>>20)
	if most-before > exprGrowth {
		t.Errorf("the server's memory grew from %d to %d MiB", before>>20, most>>20)
	}
	if failed < len(list)/2 {
		t.Errorf("only %d of %d failed: is the corpus still hostile?", failed, len(list))
	}
}

// TestC1_HostileExpressionsOfRun checks the same for `zerodag run`: it survives, reports the error of each task, and
// runs the other tasks.
func TestC1_HostileExpressionsOfRun(t *testing.T) {
	t.Parallel()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	var b strings.Builder
	b.WriteString("_parallel: true\n+good:\n  echo>: sum ${1+1}\n")
	list := append(exprHostile(), exprNested()...)
	for i, x := range list {
		fmt.Fprintf(&b, "+x%d:\n  echo>: %s\n", i, exprQuoted("${"+x+"}"))
	}
	if err := os.WriteFile(filepath.Join(folder, "x.dig"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "run", "x.dig", "--no-save", "-c", os.DevNull)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "sum 2") || strings.Contains(string(out), "goroutine ") {
		t.Errorf("%v\n%s", err, ending(string(out)))
	}
	if n := strings.Count(string(out), " | failed: "); n < len(list)/2 || n > len(list) {
		t.Errorf("%d of %d tasks failed", n, len(list))
	}
}

// TestC1_OperatorsParameters checks that an expression in a parameter of a start, for a workflow without expressions,
// causes at most an error of its attempt.
func TestC1_OperatorsParameters(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	ids := s.pushAll(map[string]string{"main.dig": "+a:\n  echo>: hello\n"})
	body, _ := json.Marshal(map[string]any{"workflowId": ids["main"], "sessionTime": "2024-01-01T00:00:00Z",
		"params": map[string]any{"note": "${" + exprHostile()[0] + "}"}})
	var a attempt
	s.must(http.MethodPut, "/api/attempts", body, &a)
	s.finish(a, exprPatience) // whether it fails depends on which parameters may contain expressions
	if a, said := s.finish(s.begin(ids["main"]), exprPatience); !a.Success {
		t.Errorf("the next attempt fails: %s", said)
	}
}

// exprEndless is a workflow with an expression that ends only when its process is killed.
const exprEndless = "+a:\n  echo>: \"${Array.prototype.indexOf.call({n:0,get length(){return this.n++?9007199254740991:1}},1)}\"\n"

// TestH4_KillEndsExpressions checks that a kill and a SIGTERM immediately end expressions that ignore interrupts, and
// that no evaluator is left.
func TestH4_KillEndsExpressions(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	ids := s.pushAll(map[string]string{"main.dig": exprEndless, "good.dig": "+a:\n  echo>: ${1+1}\n"})
	a := s.begin(ids["main"])
	began := time.Now()
	s.must(http.MethodPost, "/api/attempts/"+a.ID+"/kill", []byte("{}"), nil)
	a, _ = s.finish(a, exprPatience)
	t.Logf("killed after %v", time.Since(began))
	if a.Success {
		t.Error("it succeeded")
	}
	for range 3 {
		s.begin(ids["main"])
	}
	within(t, exprPatience, "an evaluator works", func() bool { return len(exprChildren(s.pid())) > 0 })
	children := exprChildren(s.pid())
	began = time.Now()
	s.cmd.Process.Signal(syscall.SIGTERM)
	within(t, exprPatience, "the server ends", func() bool {
		select {
		case <-s.ended:
			return true
		default:
			return false
		}
	})
	t.Logf("ended after %v", time.Since(began))
	exprGone(t, children)
	s.boot()
	if a, said := s.finish(s.begin(ids["good"]), exprPatience); !a.Success {
		t.Errorf("after the start: %s", said)
	}
}

func exprGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		within(t, exprPatience, "an evaluator is gone", func() bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return !strings.HasPrefix(string(line), "zerodag-evaluator")
		})
	}
}

// exprWaiting makes a workflow evaluate expressions until an evaluator waits for the next one, because slow evaluators,
// as on a busy machine, are not kept.
func exprWaiting(s *server, workflow string) (children []int) {
	s.t.Helper()
	within(s.t, exprPatience, "an evaluator waits", func() bool {
		s.finish(s.begin(workflow), exprPatience)
		children = exprChildren(s.pid())
		return len(children) > 0
	})
	return children
}

// TestH4_EvaluatorsDieWithTheServer checks that a SIGKILL of the server leaves no evaluator, and that killing an
// evaluator fails at most one task.
func TestH4_EvaluatorsDieWithTheServer(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	ids := s.pushAll(map[string]string{"good.dig": "+a:\n  echo>: ${1+1}\n", "main.dig": exprEndless})
	children := exprWaiting(s, ids["good"])
	for _, pid := range children {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	exprGone(t, children)
	if a, said := s.finish(s.begin(ids["good"]), exprPatience); !a.Success {
		t.Errorf("after the death of an idle evaluator: %s", said)
	}
	s.begin(ids["main"])
	within(t, exprPatience, "an evaluator works", func() bool { return len(exprChildren(s.pid())) > 0 })
	children = exprChildren(s.pid())
	s.kill()
	exprGone(t, children)
}

// TestC1_EvaluatorsAreBounded checks that the kernel limits an evaluator's environment, files, memory and programs, and
// that the evaluator is ended first when the machine runs out of memory.
func TestC1_EvaluatorsAreBounded(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	ids := s.pushAll(map[string]string{"good.dig": "+a:\n  echo>: ${1+1}\n", "plain.dig": "+a:\n  echo>: ${session_time} ${task_name}\n"})
	s.finish(s.begin(ids["plain"]), exprPatience)
	if n := len(exprChildren(s.pid())); n != 0 {
		t.Errorf("%d evaluators were started for references", n)
	}
	children := exprWaiting(s, ids["good"])
	if len(children) != 1 {
		t.Fatalf("%d evaluators", len(children))
	}
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", children[0], name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if e := read("environ"); e != "" {
		t.Errorf("environment: %q", e)
	}
	limits := read("limits")
	for line := range strings.Lines(limits) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Max open files"), strings.HasPrefix(line, "Max file size"), strings.HasPrefix(line, "Max core"):
			if !strings.Contains(line, " 0 ") {
				t.Error(line)
			}
		case strings.HasPrefix(line, "Max data size"), strings.HasPrefix(line, "Max address space"):
			if fields[3] == "unlimited" {
				t.Error(line)
			}
		}
	}
	status := read("status")
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			t.Errorf("%s is missing in\n%s", want, status)
		}
	}
	if score := strings.TrimSpace(read("oom_score_adj")); score != "1000" {
		t.Errorf("oom_score_adj %s", score)
	}
	if open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", children[0])); len(open) > 7 {
		t.Errorf("it has %d open files", len(open))
	}
	if folder, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", children[0])); folder != "/" {
		t.Errorf("it works in %s", folder)
	}
}

// TestC1_CrashLoopEnds checks that a task that is running during three server crashes fails and does not run again.
// Crashes in the first milliseconds of a run need not count, but at most three in a row.
func TestC1_CrashLoopEnds(t *testing.T) {
	t.Parallel()
	s := exprServe(t)
	begun := filepath.Join(s.folder, "begun")
	ids := s.pushAll(map[string]string{"main.dig": "+a:\n  sh>: echo x >> " + begun + "; sleep 600\n+b:\n  echo>: b\n", "good.dig": "+a:\n  echo>: ${1+1}\n"})
	a := s.begin(ids["main"])
	runs := func() int { text, _ := os.ReadFile(begun); return len(text) / 2 }
	const most = 3 + 4 // crashes that count, and that need not
	for n := 1; n <= most; n++ {
		over := false
		within(t, exprPatience, "the task runs, or is over", func() bool {
			over = n > 3 && s.isDone(a)
			return over || runs() >= n
		})
		if over {
			break
		}
		s.kill()
		s.boot()
	}
	a, said := s.finish(a, exprPatience)
	if a.Success || !strings.Contains(said, "crashed 3 times in a row") {
		t.Errorf("%+v %s", a, said)
	}
	if n := runs(); n < 3 || n > most {
		t.Errorf("it ran %d times", n)
	}
	if a, said := s.finish(s.begin(ids["good"]), exprPatience); !a.Success {
		t.Errorf("the next attempt: %s", said)
	}
}
