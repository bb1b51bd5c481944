package pictures

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/integration/server"
)

var rewrite = flag.Bool("rewrite", false, "write the pictures again; look at each of them before you keep it")

// program is the path of the tested program.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(server.Main(m, &program))
}

// both holds the sizes in which every picture is made.
var both = []Size{{80, 24}, {140, 40}}

// whatVaries matches text that differs each time: durations, times, the state of the spinner, the visible part of a
// long word next to them, and the widths of columns, which depend on them.
var whatVaries = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?: ?[+-]\d\d:?\d\d|Z)?`), "DATE"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\dZ`), "SESSION"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`(?:<1s|\b(?:\d+d ?)?(?:\d+h ?)?(?:\d+m ?)?\d+(?:\.\d+)?(?:ms|s)|\b(?:\d+d ?)?(?:\d+h ?)?\d+m)\b`), "LONG"},
	{regexp.MustCompile("[" + spinner + "]"), "*"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`(\S{0,20})[^\s…]*…\S*`), "$1…"},
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
}

const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

func normal(text string) string {
	for _, v := range whatVaries {
		text = v.find.ReplaceAllString(text, v.put)
	}
	return inOrder(text)
}

// printed matches a line that a task has printed, after its name.
var printed = regexp.MustCompile(`^\+\S+ +\| `)

// inOrder sorts the output of tasks, which reaches the screen in the order in which it is read. If some of it has left
// the screen, the order determines which lines are left, so none of it counts.
func inOrder(text string) string {
	var said, others []string
	for line := range strings.Lines(text) {
		if printed.MatchString(line) {
			said = append(said, line)
		} else {
			others = append(others, line)
		}
	}
	if !strings.HasPrefix(text, prompt) {
		said = nil
	}
	slices.Sort(said)
	return strings.Join(append(said, others...), "")
}

// matches waits until a screen equals its stored text, or stores the screen once it has the given text.
func matches(t *testing.T, s *Screen, name, when string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if text, err := s.Until(func(text string) bool { return strings.Contains(text, when) }); err != nil {
			t.Fatalf("%s: %v:\n%s", name, err, text)
		}
		keep(t, path, s.Still(normal))
		return
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := normal(string(kept))
	if got, err := s.Until(func(text string) bool { return alike(normal(text), want) }); err != nil {
		t.Errorf("%s: %v: %s", name, err, cmp.Diff(want, normal(got)))
	}
}

// alike reports whether two screens show the same tree (or, without a tree, the same text), and the same lines above it
// as far as both have them. How far a screen has scrolled depends on how tall the tree once was, and therefore on the
// machine.
func alike(got, want string) bool {
	above, tree := apart(got)
	wantAbove, wantTree := apart(want)
	if len(above) > len(wantAbove) {
		above, wantAbove = wantAbove, above
	}
	return tree == wantTree && !slices.ContainsFunc(above, func(line string) bool { return !slices.Contains(wantAbove, line) })
}

// apart splits a screen into the lines above the tree and the tree.
func apart(screen string) (above []string, tree string) {
	lines := strings.Split(screen, "\n")
	first := max(0, slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "✔ ") || strings.HasPrefix(line, "✘ ")
	}))
	return lines[:first], strings.Join(lines[first:], "\n")
}

// ends checks the last screen of a program, and its exit code.
func ends(t *testing.T, s *Screen, name string, code int) {
	t.Helper()
	if text, got := s.End(); got != code {
		t.Fatalf("%s: exit code %d:\n%s", name, got, text)
	}
	matches(t, s, name, "")
}

func keep(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// folder is a project and the home of its user. GATE followed by a number in a workflow is a named pipe: opening it
// waits until the other end is opened. wait.sh opens the gate in this way.
type folder struct{ path, gate string }

var gate = regexp.MustCompile(`GATE\d*`)

func newFolder(t *testing.T, workflow, text string) folder {
	t.Helper()
	f := folder{path: filepath.Join(t.TempDir(), "shop")}
	if err := os.Mkdir(f.path, 0o755); err != nil {
		t.Fatal(err)
	}
	f.gate = filepath.Join(filepath.Dir(f.path), "GATE")
	made := map[string]bool{}
	for _, name := range append(gate.FindAllString(text, -1), "GATE") {
		if !made[name] {
			if err := syscall.Mkfifo(filepath.Join(filepath.Dir(f.path), name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made[name] = true
	}
	keep(t, filepath.Join(f.path, "wait.sh"), ": <"+f.gate+"\n")
	keep(t, filepath.Join(f.path, workflow+".dig"), strings.ReplaceAll(text, "GATE", f.gate))
	return f
}

// release lets the tasks that wait at the gate continue, and later ones pass it.
func (f folder) release(t *testing.T) {
	t.Helper()
	pipe, err := os.OpenFile(f.gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
}

// command returns a command that runs the program in this folder as its user would.
func (f folder) command(args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = f.path
	c.Env = []string{"HOME=" + filepath.Dir(f.path), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC"}
	return c
}

// typed returns the line on which a user has typed a command.
func typed(args []string) string { return prompt + "zerodag " + strings.Join(args, " ") + "\r\n" }

// run opens a terminal and types a command.
func (f folder) run(t *testing.T, size Size, args ...string) *Screen {
	t.Helper()
	return Open(t, size, typed(args), f.command(args...), nil)
}

// inBoth makes the pictures of a test in both sizes.
func inBoth(t *testing.T, look func(t *testing.T, size Size)) {
	t.Parallel()
	for _, size := range both {
		t.Run(size.String(), func(t *testing.T) {
			t.Parallel()
			look(t, size)
		})
	}
}
