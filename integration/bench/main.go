// Command bench times whole runs of zerodag and prints them beside figures for Digdag and Dagu. It makes no judgment: the
// figures are only for reading.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	zerodag := flag.String("zerodag", "bin/zerodag", "the program to measure")
	reference := flag.String("reference", "integration/conformance/bench_reference.json", "figures of other engines")
	only := flag.String("only", "", "\"run\", \"server\", \"commands\", \"lists\", \"history\" or \"servers\", or several of these, separated by commas: run only these parts")
	flag.Parse()
	if err := run(*zerodag, *reference, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one program and a folder to run it in.
type bench struct {
	program, dir string
	others       map[string]map[string]any
}

func run(program, reference, only string) error {
	text, err := os.ReadFile(reference)
	if err != nil {
		return err
	}
	b := &bench{others: map[string]map[string]any{}}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s: %w", reference, err)
	}
	for _, name := range []string{"original_engine", "dagu"} {
		figures := map[string]any{}
		if err := json.Unmarshal(all[name], &figures); err != nil {
			return fmt.Errorf("%s: %w", reference, err)
		}
		b.others[name] = figures
	}
	if b.program, err = filepath.Abs(program); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "zerodag-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	before := load()
	fmt.Println(machine())
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"run", func() error { return cmp.Or(b.small(), b.chain(), b.large()) }},
		{"server", b.server}, {"commands", b.commands}, {"lists", b.lists}, {"history", b.history}, {"servers", b.servers},
	} {
		if only == "" || slices.Contains(strings.Split(only, ","), part.name) {
			if err := part.measure(); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\nload average of one minute: %s before, %s after\n", before, load())
	return nil
}

// figure is the time and memory that one run took.
type figure struct {
	took   time.Duration
	memory int64 // resident, in MiB
}

// run measures one command line as many times as runs says, and returns the median.
func (b *bench) run(runs int, args ...string) (figure, error) {
	var all []figure
	for range runs {
		cmd := exec.Command(b.program, args...)
		cmd.Dir = b.dir
		var out strings.Builder
		cmd.Stderr = &out
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return figure{}, fmt.Errorf("%v: %w\n%s", args, err, out.String())
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		all = append(all, figure{time.Since(began), usage.Maxrss / 1024})
	}
	slices.SortFunc(all, func(x, y figure) int { return cmp.Compare(x.took, y.took) })
	return all[len(all)/2], nil
}

func (b *bench) workflow(name, text string) error {
	return os.WriteFile(filepath.Join(b.dir, name+".dig"), []byte(text), 0o644)
}

// once writes a workflow, times it and prints a row.
func (b *bench) once(what, name, text string, runs int, goal string, keys [2]string, more ...string) (figure, error) {
	if err := b.workflow(name, text); err != nil {
		return figure{}, err
	}
	args := append([]string{"run", name + ".dig", "--no-save", "--session", "2024-01-01"}, more...)
	f, err := b.run(runs, args...)
	if err == nil {
		b.row(what, f, keys, goal)
	}
	return f, err
}

func (b *bench) row(what string, f figure, keys [2]string, goal string) {
	fmt.Printf("%-46s %9.1f ms %6d MiB %12s %10s  %s\n", what, float64(f.took.Microseconds())/1000, f.memory,
		b.other("original_engine", keys[0]), b.other("dagu", keys[1]), goal)
}

func (b *bench) other(who, key string) string {
	if seconds, ok := b.others[who][key].(float64); ok {
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return "-"
}

func (b *bench) small() error {
	fmt.Printf("%-46s %12s %10s %12s %10s  %s\n", "whole runs of `zerodag run`, medians", "here", "memory", "original", "Dagu", "goal")
	one, err := b.once("one echo>", "one", "+a:\n  echo>: hello\n", 21, "", [2]string{"local_run_one_echo", "one_step"})
	if err != nil {
		return err
	}
	empty, err := b.python()
	if err != nil {
		return err
	}
	ratio("one echo>", one.took, empty.took, 1.2)
	var wide strings.Builder
	wide.WriteString("_parallel: true\n")
	for i := range 500 {
		fmt.Fprintf(&wide, "+t%d:\n  echo>: hello\n", i)
	}
	if _, err = b.once("500 echo> in parallel", "wide", wide.String(), 11, "under 50 ms", [2]string{"fanout_500_echo", "fanout_500_unlimited"}); err != nil {
		return err
	}
	var chain strings.Builder
	for i := range 50 {
		fmt.Fprintf(&chain, "+t%d:\n  echo>: hello\n", i)
	}
	if _, err = b.once("chain of 50 echo>", "chain", chain.String(), 11, "", [2]string{"chain_50_echo", ""}); err != nil {
		return err
	}
	_, err = b.once("1,000 tasks with ${moment()}", "moment", "+a:\n  loop>: 997\n  _do:\n    echo>: ${moment().format()}\n", 3, "under 2 s", [2]string{"", ""})
	return err
}

// chain compares 50 commands with a shell that starts as many.
func (b *bench) chain() error {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "+t%d:\n  sh>: true\n", i)
	}
	f, err := b.once("chain of 50 sh>: true", "sh", text.String(), 11, "", [2]string{"", "chain_50"})
	if err != nil {
		return err
	}
	shell := &bench{program: "/bin/sh", dir: b.dir}
	loop, err := shell.run(11, "-c", "i=0; while [ $i -lt 50 ]; do sh -c true; i=$((i+1)); done")
	if err != nil {
		return err
	}
	b.row("  a shell loop of 50 sh -c true", loop, [2]string{}, "")
	ratio("chain of 50 sh>: true", f.took, loop.took, 1.6)
	return b.forks()
}

// forks measures a Go program that only runs the same commands.
func (b *bench) forks() error {
	took, err := median(11, func() error {
		for range 50 {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				return err
			}
		}
		return nil
	})
	b.row("  a bare loop of 50 fork and exec", figure{took, 0}, [2]string{}, "")
	return err
}

// python measures the baseline of starts: an interpreter with nothing to do.
func (b *bench) python() (figure, error) {
	program, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output() // not a script that searches for the interpreter
	if err != nil {
		return figure{}, fmt.Errorf("find python3: %w", err)
	}
	p := &bench{program: strings.TrimSpace(string(program)), dir: b.dir}
	f, err := p.run(21, "-I", "-S", "-c", "")
	b.row("  an empty Python (-I -S)", f, [2]string{}, "")
	return f, err
}

// ratio prints how many times as long as its baseline something took.
func ratio(what string, took, yardstick time.Duration, goal float64) {
	fmt.Printf("%-46s %9.2f x  %42s  at most %.1f\n", "  "+what+" against it", float64(took)/float64(yardstick), "", goal)
}

// large runs nested loops; the time per task must not grow with the size of the attempt.
func (b *bench) large() error {
	var first float64
	for _, size := range []struct{ outer, inner, runs int }{{10, 98, 5}, {100, 98, 3}, {1000, 98, 3}} {
		tasks := size.outer*(size.inner+3) + 3
		text := fmt.Sprintf("+a:\n  loop>: %d\n  _do:\n    +b:\n      loop>: %d\n      _do:\n        echo>: ${i}\n", size.outer, size.inner)
		goal := ""
		if size.outer == 1000 {
			goal = "under 10 s, 500 MB, ratio under 1.5"
		}
		f, err := b.once(fmt.Sprintf("%d tasks of loops in loops", tasks), "loops", text, size.runs, goal, [2]string{}, "-X", "executor.task_max_run=200000")
		if err != nil {
			return err
		}
		per := float64(f.took.Microseconds()) / float64(tasks)
		if first == 0 {
			first = per
		}
		fmt.Printf("%-46s %9.1f us  ratio %.2f\n", "  per task", per, per/first)
	}
	return nil
}
