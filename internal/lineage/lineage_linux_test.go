package lineage

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMarkIsInherited proves that a process that changes its session and clears its environment keeps the mark, and
// that both ways of reading the mark agree.
func TestMarkIsInherited(t *testing.T) {
	t.Parallel()
	c := exec.Command("/bin/sh", "-c", "read line; setsid env -i /bin/sh -c 'echo $$; sleep 1000' & wait")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	if m := Of(c.Process.Pid, true); m != None {
		t.Errorf("before: %d", m)
	}
	const mark = Mark(12)<<32 | 34
	if err := Set(c.Process.Pid, mark); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Command("kill", "-9", strings.TrimSpace(line)).Run()
	if Of(pid, false) != mark || shown(pid) != mark {
		t.Errorf("got %d and %d, want %d", Of(pid, false), shown(pid), mark)
	}
	// Changes that an unprivileged process may make do not hide the mark.
	if err := unix.Prlimit(pid, fileLocks, &unix.Rlimit{Cur: 5, Max: uint64(mark)}, nil); err != nil || Of(pid, true) != mark {
		t.Errorf("with another soft limit: %d, want %d (%v)", Of(pid, true), mark, err)
	}
}
