package localstack_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBoundary checks that only tests use the emulator: no program links anything from integration, tests elsewhere
// reach the emulator only through this package and its proxy, no other Go file contains an address or a variable of the
// plugin, and the plugin contains nothing about zerodag.
func TestBoundary(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}: {{join .Imports " "}} |{{join .TestImports " "}} {{join .XTestImports " "}}`, "zerodag/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	users := 0
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(pkg, "zerodag/integration/") {
			continue
		}
		program, tests, _ := strings.Cut(imports, "|")
		if strings.Contains(program, "zerodag/integration/") {
			t.Errorf("%s imports what is for tests:%s", pkg, program)
		}
		for i := range strings.FieldsSeq(tests) {
			switch i {
			case "zerodag/integration/localstack", "zerodag/integration/localstack/proxy":
				users++
			case "zerodag/integration/badprojects", "zerodag/integration/fake", "zerodag/integration/tdfake", "zerodag/integration/gcpfake", "zerodag/integration/microvmfake":
			default:
				if strings.HasPrefix(i, "zerodag/integration/") {
					t.Errorf("tests of %s import %s: outside of integration only localstack, its proxy, the fakes and badprojects are for them", pkg, i)
				}
			}
		}
	}
	if users < 20 {
		t.Errorf("only %d imports of this package were seen: this shows nothing", users)
	}
	looks(t, "../..", ".go", `LSPROC_|"LS_PORT|/_ecs\b|/_lsproc\b`, "the plugin's addresses and variables belong into integration/localstack")
	looks(t, "plugin", ".py", `(?i)zerodag`, "the plugin emulates AWS for any client")
}

// looks reports each file of a kind below a folder, except this one, that matches a pattern.
func looks(t *testing.T, folder, kind, pattern, why string) {
	t.Helper()
	forbidden, read := regexp.MustCompile(pattern), 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || folder != "plugin" && path == "../../integration/localstack"):
			return fs.SkipDir
		case filepath.Ext(path) != kind:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		if found := forbidden.Find(text); found != nil {
			t.Errorf("%s has %q: %s", path, found, why)
		}
		return nil
	})
	if err != nil || read < 20 {
		t.Fatalf("%s: %d files read, %v", folder, read, err)
	}
}

// TestReadme checks that this folder's page names every file and every module of the plugin.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"[a-z]*", "plugin/lsproc/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			base := filepath.Base(name)
			if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "__") {
				continue
			}
			if info, err := os.Stat(name); err == nil && info.IsDir() {
				base += "/"
			}
			if !strings.Contains(string(page), "`"+base+"`") {
				t.Errorf("README.md does not name %s", name)
			}
		}
	}
}
