//go:build unix

package check_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"zerodag/internal/check"
)

// repeated returns a string with n parts.
func repeated(head string, n int, part func(i int) string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}

// costly returns projects of about n parts, each of which might be compared with all others.
func costly(n int) map[string]map[string]string {
	one := func(text string) map[string]string { return map[string]string{"a.dig": text} }
	return map[string]map[string]string{
		"keys of a task":      one(repeated("+a:\n  echo>: 1\n", n, func(i int) string { return fmt.Sprintf("  dokcr%d: 1\n", i) })),
		"unremarkable keys":   one(repeated("+a:\n  sh>: x\n", n, func(i int) string { return fmt.Sprintf("  zz%d: file%d\n", i, i) })),
		"exports in a circle": one(repeated("+a:\n  echo>: 1\n_export:\n", n, func(i int) string { return fmt.Sprintf("  e%d: ${e%d} ${e%d} ${e%d}\n", i, (i+1)%n, i*7%n, i*13%n) })),
		"exports of tasks": one(repeated("zerodag: 1\n_export:\n", n, func(i int) string { return fmt.Sprintf("  e%d: ${1}\n", i) }) +
			repeated("", n, func(i int) string { return fmt.Sprintf("+t%d:\n  echo>: 1\n  _export: {x%d: 1}\n", i, i) })),
		"tasks":         one(repeated("", n, func(i int) string { return fmt.Sprintf("+t%d:\n  echo>: 1\n", i) })),
		"files written": one(repeated("", n, func(i int) string { return fmt.Sprintf("+t%d:\n  sh>: echo a > f%d.txt; cat f%d.txt\n", i, i, i*7%n) })),
		"stored values": one(repeated("zerodag: 1\n", n, func(i int) string {
			return fmt.Sprintf("+t%d:\n  sh>: x\n  _store: {v%d: stdout}\n+u%d:\n  echo>: ${v%d}\n", i, i, i, i)
		})),
		"pools":    one(repeated("zerodag: 1\n", n, func(i int) string { return fmt.Sprintf("+t%d:\n  sh>: x\n  _pool: p%d\n", i, i) })),
		"patterns": one(repeated("zerodag: 1\n+a:\n  echo>: 1\nparams:\n", n, func(i int) string { return fmt.Sprintf("  v%d: {type: string, pattern: 'a%d+'}\n", i, i) })),
		"tasks that wait": one(repeated("zerodag: 1\n_parallel: true\n", n, func(i int) string {
			return fmt.Sprintf("+t%d:\n  echo>: 1\n  _after: [+t%d, +t%d]\n", i, max(i-1, 0), i/2)
		})),
		"python functions": {"a.dig": repeated("", n, func(i int) string { return fmt.Sprintf("+t%d:\n  py>: m.f%d\n  a%d: 1\n", i, i, i) }), "m.py": repeated("", n, func(i int) string { return fmt.Sprintf("def f%d(x):\n  pass\n", i) })},
	}
}

// processorTime returns the processor time that this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCostIsLinear proves that checking four times as much text takes about four times the processor time, whatever the
// text consists of.
func TestCostIsLinear(t *testing.T) { //nolint:paralleltest // it measures the processor time of the process
	const n = 250
	small, large := costly(n), costly(4*n)
	for name, project := range small {
		least := func(files map[string]string) time.Duration {
			best := time.Hour
			for range 2 {
				began := processorTime(t)
				check.Files(t.Context(), files, check.Code{})
				best = min(best, processorTime(t)-began)
			}
			return best
		}
		if one, four := least(project), least(large[name]); four > 10*one+20*time.Millisecond {
			t.Errorf("%s: %s for %d, but %s for %d", name, one, n, four, 4*n)
		}
	}
}

// TestStops proves that a check ends when its caller disconnects.
func TestStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files := map[string]string{"a.dig": repeated("", 200, func(i int) string { return fmt.Sprintf("+t%d:\n  echo>: 1\n  retyr: 1\n", i) })}
	all, _ := check.Files(t.Context(), files, check.Code{})
	if found, _ := check.Files(ctx, files, check.Code{}); len(all) < 100 || len(found) > 0 {
		t.Errorf("%d findings, %d of them after the caller had left", len(all), len(found))
	}
}
