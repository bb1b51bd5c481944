package docs_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "update what is generated from pages and packages; read the diff before you keep it")

// areas lists the parts of the map, and how the paths of their packages begin. A package belongs to the first area that
// matches.
var areas = []struct {
	title    string
	prefixes []string
}{
	{"The core: pure, no I/O", []string{"engine", "events"}},
	{"Operators", []string{"operators"}},
	{"The shell, and what serves it", []string{"internal/host", "internal/delivery", "internal/catalogue", "internal/node", "internal/tick", "internal/uploads",
		"internal/execution", "internal/replay", "internal/retry", "internal/placement", "internal/vault", "internal/httpapi", "internal/client", "internal/embedded", "internal/cloud", "internal/local"}},
	{"Drivers, and their parts", []string{"internal"}},
	{"Programs", []string{"cmd", "ui", "functions", "infra", ".", "docs", "examples", "packaging"}},
	{"Tests of the whole", []string{"integration"}},
}

// TestMap proves that docs/packages.md lists every package with the first sentence of its comment.
func TestMap(t *testing.T) {
	t.Parallel()
	const page, begin, end = "packages.md", "<!-- packages -->\n", "<!-- end of packages -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	written, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	want := drawMap(t)
	if *rewrite {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if written == want {
		return
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(written, line) {
			t.Errorf("the map has not: %s", line)
		}
	}
	for line := range strings.Lines(written) {
		if !strings.Contains(want, line) {
			t.Errorf("the map has, and there is no such package or it says something else: %s", line)
		}
	}
	t.Error("write it again: go test ./docs -run TestMap -rewrite")
}

// drawMap returns a table of all packages and the first sentences of their comments.
func drawMap(t *testing.T) string {
	t.Helper()
	command := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := make([]strings.Builder, len(areas))
	for line := range strings.Lines(string(out)) {
		path, says, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if path = strings.TrimPrefix(strings.TrimPrefix(path, "zerodag"), "/"); path == "" {
			path = "."
		}
		if says == "" {
			t.Errorf("package %s has no comment: say in a doc.go what it is and must never do", path)
		}
		n := areaOf(path)
		if n < 0 {
			t.Errorf("package %s is in no area of the map (docs/map_test.go)", path)
			continue
		}
		lines[n].WriteString("| `" + path + "` | " + sentence(path, says) + " |\n")
	}
	var b strings.Builder
	for n, a := range areas {
		b.WriteString("\n**" + a.title + "**\n\n| package | |\n|---|---|\n" + lines[n].String())
	}
	b.WriteString("\n")
	return b.String()
}

func areaOf(path string) int {
	for n, a := range areas {
		for _, p := range a.prefixes {
			if path == p || strings.HasPrefix(path, p+"/") {
				return n
			}
		}
	}
	return -1
}

// sentence removes "Package x", since the line already has the name.
func sentence(path, says string) string {
	name := filepath.Base(path)
	if path == "." {
		name = "zerodag"
	}
	for _, kind := range []string{"Package ", "Command "} {
		says = strings.TrimPrefix(says, kind+name+" ")
	}
	return strings.TrimSuffix(strings.ReplaceAll(says, "|", `\|`), ".")
}
