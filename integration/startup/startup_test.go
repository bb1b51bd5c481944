package startup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"zerodag/integration/server"
)

var rewrite = flag.Bool("rewrite", false, "record what was counted; say in the commit why it is more")

// room is the factor by which costs may exceed the recorded ones.
const room = 1.10

// few is an increase in any count that is harmless: on a busy machine, output arrives in more pieces, and Go wakes its
// threads more often.
const few = 10

// tries is how many times a process is started; the smallest value of each count is what it needs.
const tries = 5

// cost holds the resources that a process used.
type cost struct {
	InitBytes  int `json:"init_bytes"`       // allocated by the initialization of packages, before main
	InitAllocs int `json:"init_allocs"`      // the number of these allocations
	PrivateKiB int `json:"private_kib"`      // own memory; how much of the program's file is mapped depends on the system
	Reads      int `json:"reads,omitempty"`  // system calls that read; not counted for a server, whose loops read meanwhile
	Writes     int `json:"writes,omitempty"` // system calls that write
}

// counts returns the counts of a cost by name.
func (c cost) counts() map[string]int {
	return map[string]int{"bytes before main": c.InitBytes, "allocations before main": c.InitAllocs, "KiB of its own": c.PrivateKiB,
		"reads": c.Reads, "writes": c.Writes}
}

// least returns the smaller value of each count.
func (c cost) least(d cost) cost {
	return cost{min(c.InitBytes, d.InitBytes), min(c.InitAllocs, d.InitAllocs), min(c.PrivateKiB, d.PrivateKiB),
		min(c.Reads, d.Reads), min(c.Writes, d.Writes)}
}

var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(server.Main(m, &program))
}

// TestCosts checks that neither a local run nor the start of a server has become more expensive by a tenth.
func TestCosts(t *testing.T) {
	t.Parallel()
	measured := map[string]func(*testing.T) cost{"run": localRun, "server": firstAnswer}
	got := map[string]cost{}
	for what, run := range measured {
		got[what] = least(t, run)
	}
	name := filepath.Join("testdata", runtime.GOOS+"-"+runtime.GOARCH+".json")
	if *rewrite {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Skipf("SKIPPED: nothing is recorded for this kind of machine: %v", err)
	}
	var recorded map[string]cost
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	for what, c := range got {
		for range more { // on a busy machine, memory is collected later
			if !c.over(recorded[what]) {
				break
			}
			c = c.least(measured[what](t))
		}
		allowed := recorded[what].counts()
		for count, n := range c.counts() {
			t.Logf("%s: %s: %d, recorded %d", what, count, n, allowed[count])
			if over(n, allowed[count]) {
				t.Errorf("%s: %d %s, more than a tenth over the recorded %d; find out what has brought them, or record them: go test ./integration/startup -rewrite", what, n, count, allowed[count])
			}
		}
	}
}

// more is how many times a process that exceeded its limit is run again.
const more = 20

func over(n, allowed int) bool { return float64(n) > room*float64(allowed) && n > allowed+few }

// over reports whether any count exceeds the recorded one by a tenth.
func (c cost) over(recorded cost) bool {
	allowed := recorded.counts()
	for count, n := range c.counts() {
		if over(n, allowed[count]) {
			return true
		}
	}
	return false
}

// least runs something several times in sequence and returns the smallest value of each count.
func least(t *testing.T, run func(*testing.T) cost) cost {
	t.Helper()
	all := run(t)
	for range tries - 1 {
		all = all.least(run(t))
	}
	return all
}

// starting returns a command that runs the program in a separate folder; traced means that it prints what its packages
// initialize.
func starting(t *testing.T, traced bool, arguments ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, arguments...)
	var out bytes.Buffer
	c.Dir, c.Stderr = t.TempDir(), &out
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	if traced {
		c.Env = append(c.Env, "GODEBUG=inittrace=1")
	}
	return c, &out
}

// ofInit matches a line of the trace: init PACKAGE @1.2 ms, 0.01 ms clock, 1024 bytes, 3 allocs.
var ofInit = regexp.MustCompile(`(?m)^init \S+ @.* clock, (\d+) bytes, (\d+) allocs$`)

// initialized adds up the allocations in a trace.
func (c *cost) initialized(t *testing.T, trace string) {
	t.Helper()
	lines := ofInit.FindAllStringSubmatch(trace, -1)
	if len(lines) < 50 {
		t.Fatalf("the trace names %d packages:\n%s", len(lines), trace)
	}
	for _, m := range lines {
		c.InitBytes += number(t, m[1])
		c.InitAllocs += number(t, m[2])
	}
}

// field reads a number from the text of a file in /proc.
func field(t *testing.T, text, name string) int {
	t.Helper()
	m := regexp.MustCompile(name + `:\s+(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s: %s", name, text)
	}
	return number(t, m[1])
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// localRun measures `zerodag run` on a workflow whose one command reads the measurements of the program that runs it.
func localRun(t *testing.T) (took cost) {
	for _, traced := range []bool{false, true} {
		c, trace := starting(t, traced, "run", "one.dig")
		if err := os.WriteFile(filepath.Join(c.Dir, "one.dig"), []byte("+a:\n  sh>: cat /proc/$PPID/status /proc/$PPID/io\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, trace)
		}
		if traced {
			took.initialized(t, trace.String())
			continue
		}
		shown := string(out) + trace.String()
		took.PrivateKiB, took.Reads, took.Writes = field(t, shown, "RssAnon"), field(t, shown, "syscr"), field(t, shown, "syscw")
	}
	return took
}

// firstAnswer measures a server without stored data until it has answered once.
func firstAnswer(t *testing.T) (took cost) {
	c, trace := starting(t, true, "server", "--memory", "--port", "0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := address(out)
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	answer, err := http.Get(url + "/api/version") //nolint:noctx // of a server that the test has started
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.Process.Pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was asked to end
	took.initialized(t, trace.String())
	took.PrivateKiB = field(t, string(status), "RssAnon")
	return took
}

// address reads the server's address, and discards the rest of its output.
func address(out io.Reader) (string, error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "Listening on "); found {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url, nil
		}
	}
	return "", errors.Join(errors.New("the server does not say where it listens"), lines.Err())
}
