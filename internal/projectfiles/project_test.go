package projectfiles_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/projectfiles"
	"zerodag/operators"
)

var (
	_ operators.Files = projectfiles.Project{}
	_ dig.Source      = projectfiles.Project{}.Source
)

// project creates a project from contents by name.
func project(t *testing.T, content map[string]string) projectfiles.Project {
	t.Helper()
	p, err := projectfiles.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		if err := p.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestReadAndWrite(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"a/b.txt": "old"})
	if err := p.Write("a/b.txt", []byte("new")); err != nil {
		t.Error(err)
	}
	if content, err := p.Read("a/b.txt"); err != nil || string(content) != "new" {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := p.Read("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	entries, err := os.ReadDir(filepath.Join(p.Root(), "a"))
	if err != nil || len(entries) != 1 {
		t.Errorf("something was left beside the file: %v, %v", entries, err)
	}
}

func TestNothingOutsideIsReached(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	for _, name := range []string{"../x", "a/../../x", "/etc/passwd", ""} {
		_, read := p.Read(name)
		_, load := p.Load(name)
		for _, err := range []error{read, load, p.Write(name, nil)} {
			var config *param.ConfigError
			if !errors.As(err, &config) || !strings.HasPrefix(err.Error(), "File name must not be outside of project path ("+p.Root()+"): ") {
				t.Errorf("%q: got %v", name, err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"sub/a.dig":     "!include : 'more.dig'\n+x:\n  echo>: x\n",
		"sub/more.dig":  "_export: {a: 1}\n",
		"wrong.dig":     "junk: 1\n",
		"including.dig": "!include : 'none.dig'\n",
	})
	m, err := p.Load("sub/a.dig")
	if err != nil || param.Text(m) != `{"_export":{"a":1,"_workdir":"sub"},"+x":{"echo>":"x"}}` {
		t.Errorf("got %s, %v", param.Text(m), err)
	}
	if _, err := p.Load("none.dig"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	for _, name := range []string{"wrong.dig", "including.dig"} {
		_, err := p.Load(name)
		var config *param.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s: got %v, want a ConfigError", name, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"main.dig": "", "sub/child.dig": "", "a.txt": "", ".hidden": "", ".git/config": "", "sub/.env": "",
	})
	names, err := p.List()
	if diff := cmp.Diff([]string{"a.txt", "main.dig", "sub/child.dig"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"main.dig"}, projectfiles.WorkflowNames(names)); diff != "" {
		t.Error(diff)
	}
}

// ignoreCases holds patterns that are tested on the same tree of files.
var ignoreCases = []string{
	"*.log", "/a.log", "a.log\n!sub/a.log", "sub", "sub/", "/sub/", "build/", "**/build", "sub/**", "sub/*", "*\n!*.dig\n!*/",
	"# comment\n\n\\#x", "x y", "a.lo?", "[ab].log", "sub/deep/*.txt", "**/deep/**", "deep/*.txt", "*.txt\n!b.txt", "trailing.txt ",
	"\\!odd", "a*b", "sub/**/c.txt", "!a.log", "sub\n!sub/a.log", "file", "/**/c.txt", "b.log\r\nc.txt\r\n", "[!a].log", "[]a].log", "[a-b]*", "[", "a\\", "*/", "**", "/**", "a**b", "**/", "b.txt\\ ", "[[:alpha:]].log", "[^a-b].txt",
	"sub/**/", "**/c.txt", "***", "sub//deep", "/", "!", "\\a.log", "[\\a].log",
}

var ignoreTree = []string{
	"a.log", "b.log", "ab.log", "a.txt", "b.txt", "main.dig", "#x", "!odd", "x y", "file", "trailing.txt", "axb",
	"sub/a.log", "sub/b.txt", "sub/deep/c.txt", "sub/deep/d.log", "sub/deep/er/c.txt", "build/out", "lib/build/out", "lib/sub/x", "lib/file/x",
}

// TestTwoIgnoreFiles proves that the lines of our ignore file come after the lines of Digdag's file, and that each is
// named.
func TestTwoIgnoreFiles(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{".digdagignore": "*.log\nnotes\n", ".zerodagignore": "# ours\n!keep.log\nb.txt\n",
		"a.log": "", "keep.log": "", "b.txt": "", "c.txt": "", "notes/x": ""})
	names, err := p.List()
	if diff := cmp.Diff([]string{"c.txt", "keep.log"}, names); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	for name, want := range map[string]string{"a.log": "line 1 of .digdagignore", "b.txt": "line 3 of .zerodagignore", "keep.log": "", "c.txt": "", "none": ""} {
		if got := p.IgnoredBy(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestIgnoredAsGitDoes compares with git itself.
func TestIgnoredAsGitDoes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: git is not on this machine")
	}
	for _, patterns := range ignoreCases {
		t.Run(fmt.Sprintf("%q", patterns), func(t *testing.T) {
			t.Parallel()
			p := project(t, map[string]string{".digdagignore": patterns})
			for _, name := range ignoreTree {
				if err := p.Write(name, nil); err != nil {
					t.Fatal(err)
				}
			}
			got, err := p.List()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(gitList(t, p.Root()), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func gitList(t *testing.T, root string) []string {
	t.Helper()
	var out []byte
	for _, args := range [][]string{
		{"init", "-q"},
		{"-c", "core.quotePath=false", "ls-files", "-z", "--others", "--exclude-from=.digdagignore"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_DIR="+filepath.Join(root, ".git"))
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestCopy(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"main.dig": "x", "sub/run.sh": "y", ".hidden": "z"})
	if err := os.Chmod(filepath.Join(p.Root(), "sub/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main.dig", filepath.Join(p.Root(), "link.dig")); err != nil {
		t.Fatal(err)
	}
	c, err := p.CopyTo(filepath.Join(t.TempDir(), "new", "workspace"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.List()
	if diff := cmp.Diff([]string{"link.dig", "main.dig", "sub/run.sh"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := os.WriteFile(filepath.Join(c.Root(), "main.dig"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if content, err := p.Read("main.dig"); string(content) != "x" || err != nil {
		t.Errorf("the original changed with its copy: %q, %v", content, err)
	}
	if info, err := os.Stat(filepath.Join(c.Root(), "sub/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestOpenNeedsAFolder(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"file": ""})
	for _, name := range []string{"file", "none"} {
		if _, err := projectfiles.Open(filepath.Join(p.Root(), name)); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// FuzzIgnore proves that no ignore file content stops a listing.
func FuzzIgnore(f *testing.F) {
	for _, patterns := range ignoreCases {
		f.Add(patterns)
	}
	f.Fuzz(func(t *testing.T, patterns string) {
		p := project(t, map[string]string{".digdagignore": patterns, "a/b": ""})
		if _, err := p.List(); err != nil {
			t.Error(err)
		}
	})
}

// TestEntries proves that the contents of a folder are listed by name, that a file does not count as a folder, and that
// an unreadable folder does not count as missing.
func TestEntries(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{"a/b.txt": "", "a/c/d.txt": "", "e.txt": ""})
	if err := os.Symlink(t.TempDir(), filepath.Join(p.Root(), "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder string
		names  []string
		there  bool
	}{
		{".", []string{"a", "e.txt", "out"}, true},
		{"a", []string{"b.txt", "c"}, true},
		{"a/c/", []string{"d.txt"}, true},
		{"e.txt", nil, false},
		{"e.txt/x", nil, false},
		{"none", nil, false},
		{"out", nil, true},
		{"../x", nil, true},
	} {
		if names, there := p.Entries(c.folder); !slices.Equal(names, c.names) || there != c.there {
			t.Errorf("%s: %q, %v, want %q, %v", c.folder, names, there, c.names, c.there)
		}
	}
}
