package projectfiles

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnoreIsGit proves that an ignore file excludes the same files as git does with the same lines: it generates
// three hundred pattern files at random and tests forty names with each. This is why package projectfiles may read
// these lines itself (docs/adr/0025-hand-written.md).
func TestIgnoreIsGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT RUN: git is not here")
	}
	folder := t.TempDir()
	git := func(in string, args ...string) string {
		c := exec.Command("git", args...)
		c.Dir, c.Stdin = folder, strings.NewReader(in)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		var out bytes.Buffer
		c.Stdout = &out
		if err := c.Run(); err != nil && c.ProcessState.ExitCode() != 1 { // 1: nothing is ignored
			t.Fatalf("git %v: %v", args, err)
		}
		return out.String()
	}
	git("", "init", "-q")
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(parts []string, most int) string {
		text := ""
		for range 1 + random.IntN(most) {
			text += parts[random.IntN(len(parts))]
		}
		return text
	}
	different := 0
	for round := range 300 {
		var lines []string
		for range 1 + random.IntN(4) {
			line := draw([]string{"a", "b", "a", ".x", "/", "*", "?", "**/", "/**", "[ab]", "[!a]", "!", "\\", " ", "#"}, 5)
			if i := strings.Index(line, "**"); i > 0 && line[i-1] != '/' {
				continue // git treats `b**/*` as `b` and `**/*`, contrary to its own manual
			}
			lines = append(lines, line)
		}
		var names []string
		for range 40 {
			if name := path.Clean(draw([]string{"a", "b", "c", ".x", "/", "a/", "b/", "#", "!"}, 5)); !strings.HasPrefix(name, "/") && name != "." {
				names = append(names, name)
			}
		}
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		theirs := map[string]bool{}
		for name := range strings.SplitSeq(git(strings.Join(names, "\x00")+"\x00", "check-ignore", "--no-index", "-z", "--stdin"), "\x00") {
			theirs[name] = true
		}
		ours := parseIgnore("", text)
		for _, name := range names {
			ignored := ours.ignores(name, false)
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				ignored = ignored || ours.ignores(dir, true)
			}
			if ignored != theirs[name] {
				if different++; different < 10 {
					t.Errorf("round %d, %q, %q: ignored %v, by git %v", round, text, name, ignored, theirs[name])
				}
			}
		}
	}
}
