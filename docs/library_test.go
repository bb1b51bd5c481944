package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// library is everything that may be cited.
type library struct {
	pages map[string]page // by path
	tests map[string]bool // by name
	makes map[string]bool // targets of the Makefile
	cases []string        // names of recorded cases
}

// page is a page's sections, by anchor and by number.
type page struct{ anchors, numbers map[string]bool }

var (
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	numbered = regexp.MustCompile(`^(\d+(?:\.\d+)*)\.? `)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	target   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
)

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{pages: map[string]page{}, tests: map[string]bool{}, makes: map[string]bool{}}
	walk(t, func(name string) {
		isPage := path.Ext(name) == ".md"
		if !isPage && !strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if isPage {
			l.pages[name] = sections(string(text))
			return
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			l.tests[m[1]] = true
		}
	})
	cases, err := os.ReadDir(filepath.Join(root, "integration/conformance/cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		l.cases = append(l.cases, c.Name())
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range target.FindAllStringSubmatch(string(makefile), -1) {
		l.makes[m[1]] = true
	}
	if len(l.makes) < 20 || len(l.pages) < 40 || len(l.tests) < 300 || len(l.cases) < 200 {
		t.Fatalf("found %d pages, %d tests, %d recorded cases and %d targets", len(l.pages), len(l.tests), len(l.cases), len(l.makes))
	}
	return l
}

// sections reads the headings of a page; anchors are formed as in the usual viewers.
func sections(text string) page {
	p := page{map[string]bool{}, map[string]bool{}}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		for n, first := 1, anchor; p.anchors[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", first, n)
		}
		p.anchors[anchor] = true
		if n := numbered.FindStringSubmatch(m[1]); n != nil {
			p.numbers[n[1]] = true
		}
	}
	return p
}

func (l *library) page(from, name string) (string, page, bool) {
	for _, base := range []string{path.Dir(from), ".", "docs", "docs/reference"} {
		at := path.Join(base, name)
		if p, ok := l.pages[at]; ok {
			return at, p, true
		}
	}
	return "", page{}, false
}

// exists reports whether a path, which may have a "*", leads to a file, a folder, the number of a decision, or
// something that a package declares: internal/host.Limits.
func exists(name string) bool {
	pkg, _, _ := strings.Cut(name, ".")
	for _, n := range []string{name, strings.TrimRight(name, "./"), name + ".go", name + "-*", pkg} {
		found, err := filepath.Glob(filepath.Join(root, n))
		if err != nil || len(found) == 0 {
			continue
		}
		if n != pkg || len(found) == 1 && isDir(found[0]) {
			return true
		}
	}
	return false
}

// hasTests reports whether a package, or one below "...", has tests.
func hasTests(pkg string) bool {
	dir, all := strings.CutSuffix(pkg, "/...")
	if all {
		return isDir(filepath.Join(root, dir))
	}
	found, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	return err == nil && len(found) > 0
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
