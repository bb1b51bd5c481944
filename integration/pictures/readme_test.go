package pictures

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The picture of the README, and its source.
const (
	demoCast    = "testdata/demo.cast"
	demoPicture = "../../docs/pictures/run.svg"
	demoAbout   = "A workflow runs as a tree of tasks. One task fails and shows its error. After the fix, the same command resumes with that task."
)

// demoCommands holds the commands that are typed one after the other.
var demoCommands = []string{"zerodag run nightly.dig --session 2026-03-01", "touch template.html", "zerodag run nightly.dig --session 2026-03-01"}

// demo types the commands into a shell with the project examples/nightly and returns the last screen; pause is the
// delay between keys, because people type more slowly than the test.
func demo(t *testing.T, cast *Cast, pause time.Duration) string {
	t.Helper()
	f := newFolder(t, "unused", "+a: {}\n")
	if err := os.CopyFS(f.path, os.DirFS("../../examples/nightly")); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("bash", "--norc", "--noprofile")
	shell.Dir, shell.Env = f.path, append(f.command().Env, "PS1="+prompt, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HISTFILE=")
	s := Open(t, Size{80, 30}, "", shell, cast)
	for i, command := range demoCommands {
		awaitPrompt(t, s, i)
		time.Sleep(4 * pause)
		for _, key := range command {
			s.Type(string(key))
			time.Sleep(pause)
		}
		time.Sleep(6 * pause)
		s.Type("\n")
	}
	awaitPrompt(t, s, len(demoCommands))
	return s.Text()
}

// awaitPrompt waits until the shell prompts after the given number of commands.
func awaitPrompt(t *testing.T, s *Screen, commands int) {
	t.Helper()
	text, err := s.Until(func(text string) bool {
		return strings.HasSuffix(text, "\n"+strings.TrimSpace(prompt)+"\n") && strings.Count(text, "\n"+prompt) >= commands-1 || text == strings.TrimSpace(prompt)+"\n" && commands == 0
	})
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}

// TestDemo checks that the animated picture of the README is drawn from the cast, and that the cast ends with the
// program's current output for the same commands.
func TestDemo(t *testing.T) {
	t.Parallel()
	if *rewrite {
		cast := &Cast{}
		demo(t, cast, 50*time.Millisecond)
		if err := cast.Write(demoCast); err != nil {
			t.Fatal(err)
		}
	}
	cast, err := ReadCast(demoCast)
	if err != nil {
		t.Fatal(err)
	}
	current(t, demoPicture, cast.SVG(demoAbout))
	frames := cast.frames()
	if diff := cmp.Diff(normal(frames[len(frames)-1].text), normal(demo(t, nil, 0))); diff != "" {
		t.Errorf("what the picture shows is not what happens; go test ./integration/pictures -run TestDemo -rewrite: %s", diff)
	}
	if info, err := os.Stat(demoPicture); err != nil || info.Size() > 300_000 {
		t.Errorf("the picture is larger than a page should load: %v, %v", info.Size(), err)
	}
}

// current fails the test unless a file has the wanted content, or writes the file.
func current(t *testing.T, path, want string) {
	t.Helper()
	if *rewrite {
		keep(t, path, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("%s is not current: go test ./integration/pictures -rewrite", path)
	}
}

// TestArchitecture checks that the picture of the architecture matches its description, each arrow between existing
// boxes.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	for _, a := range arrows {
		if boxNamed(a[0]).name == "" || boxNamed(a[1]).name == "" {
			t.Errorf("an arrow leads from %q to %q", a[0], a[1])
		}
	}
	current(t, "../../docs/pictures/architecture.svg", Architecture())
}
